/** One thing that is known, by its name, in a list of them. */
import type { ComponentChildren } from "preact";

export function Fact(props: {
  readonly name: ComponentChildren;
  /** An id, or what a provider calls something. */
  readonly isCode?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <dt>{props.name}</dt>
      <dd class={props.isCode === true ? "code" : undefined}>{props.children}</dd>
    </>
  );
}
