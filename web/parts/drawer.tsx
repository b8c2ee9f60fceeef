/** A panel over the right side of the screen; its address is in the URL, so it can be linked to. */
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";

export function Drawer(props: {
  readonly title: ComponentChildren;
  /** The screen without the drawer. */
  readonly closeHref: string;
  readonly children: ComponentChildren;
}) {
  const { route } = useLocation();
  const { title, closeHref, children } = props;
  const close = (
    <a class="button plain" href={closeHref} aria-label="Close">
      <Icon name="close" />
    </a>
  );
  return (
    <Dialog title={title} place="drawer" close={close} onClose={() => route(closeHref)}>
      {children}
    </Dialog>
  );
}
