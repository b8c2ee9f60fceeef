/** A dialog over the page, closed by Escape, its button or a click beside it. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

export function Dialog(props: {
  readonly title: ComponentChildren;
  readonly onClose: () => void;
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
      class="dialog"
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
        <button type="button" class="button plain" aria-label="Close" onClick={props.onClose}>
          <Icon name="close" />
        </button>
      </header>
      {props.children}
    </dialog>
  );
}
