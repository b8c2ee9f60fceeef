/** A dialog over the page, closed by Escape, its button or a click beside it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

export function Dialog(props: {
  readonly title: ComponentChildren;
  readonly onClose: () => void;
  /** Over the middle of the screen, or over its right side. */
  readonly place?: "dialog" | "drawer";
  /** Instead of the button that closes it. */
  readonly close?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      class={props.place ?? "dialog"}
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) props.onClose();
      }}
    >
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.close ?? (
          <button type="button" class="button plain" aria-label="Close" onClick={props.onClose}>
            <Icon name="close" />
          </button>
        )}
      </header>
      {props.children}
    </dialog>
  );
}
