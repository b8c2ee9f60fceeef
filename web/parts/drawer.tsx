/** A panel over the right side of the screen; its address is in the URL, so it can be linked to. */
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.js";

export function Drawer(props: {
  readonly title: ComponentChildren;
  /** The screen without the drawer. */
  readonly closeHref: string;
  readonly children: ComponentChildren;
}) {
  const { route } = useLocation();
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      class="drawer"
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        route(props.closeHref);
      }}
      onClick={(event) => {
        if (event.target === dialog.current) route(props.closeHref);
      }}
    >
      <header>
        <h2 id={id}>{props.title}</h2>
        <a class="button plain" href={props.closeHref} aria-label="Close">
          <Icon name="close" />
        </a>
      </header>
      {props.children}
    </dialog>
  );
}
