/** A form that asks for a change; why it failed stands above its fields. */
import type { ComponentChildren } from "preact";
import { Failure } from "./states.js";
import type { Action } from "./use-action.js";

export function ActionForm(props: {
  readonly action: Action;
  readonly send: (form: HTMLFormElement, submitter: HTMLElement | null) => Promise<unknown>;
  readonly class?: string;
  readonly onChange?: () => void;
  readonly children: ComponentChildren;
}) {
  const { action, send } = props;
  return (
    <form
      class={props.class}
      onChange={props.onChange}
      onSubmit={(event) => {
        event.preventDefault();
        const { currentTarget: form, submitter } = event;
        action.run(() => send(form, submitter));
      }}
    >
      {action.error === null ? null : <Failure error={action.error} />}
      {props.children}
    </form>
  );
}
