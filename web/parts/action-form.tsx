/** A form that asks for a change: why it failed, its fields, and the button that sends it. */
import type { ComponentChildren } from "preact";
import { Failure } from "./states.js";
import type { Action } from "./use-action.js";

export function ActionForm(props: {
  readonly action: Action;
  readonly send: (form: HTMLFormElement, submitter: HTMLElement | null) => Promise<unknown>;
  readonly class?: string;
  readonly onChange?: () => void;
  /** The name of the button. Left out: the form brings buttons of its own. */
  readonly submit?: string;
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
      {props.submit === undefined ? null : (
        <p>
          <button type="submit" class="button primary" disabled={action.isBusy}>
            {props.submit}
          </button>
        </p>
      )}
    </form>
  );
}
