/** Forms and buttons that ask for a change. */
import type { ComponentChildren } from "preact";
import { call } from "../api/client.js";
import { Icon } from "./icon.js";
import { Failure } from "./states.js";
import type { Action } from "./use-action.js";

/** Why it failed, its fields, and the button that sends it. */
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
    <>
      <Failure error={action.error} />
      <form
        class={props.class}
        onChange={props.onChange}
        onSubmit={(event) => {
          event.preventDefault();
          const { currentTarget: form, submitter } = event;
          action.run(() => send(form, submitter));
        }}
      >
        {props.children}
        {props.submit === undefined ? null : (
          <p>
            <button type="submit" class="button primary" disabled={action.isBusy}>
              {props.submit}
            </button>
          </p>
        )}
      </form>
    </>
  );
}

/** Takes an entry of a menu away. */
export function Remove(props: {
  readonly action: Action;
  /** In the interface. */
  readonly path: string;
  /** For those who do not see where the button stands. */
  readonly label: string;
}) {
  const { action, path, label } = props;
  return (
    <button
      type="button"
      class="button plain"
      aria-label={label}
      onClick={() => action.run(() => call("DELETE", path))}
    >
      <Icon name="close" />
    </button>
  );
}

/** A button that asks for a change by itself; whoever shows it shows why it failed. */
export function ActionButton(props: {
  readonly action: Action;
  readonly act: () => Promise<unknown>;
  readonly isDisabled?: boolean;
  readonly children: ComponentChildren;
}) {
  const { action, act, isDisabled = false } = props;
  return (
    <button
      type="button"
      class="button"
      disabled={action.isBusy || isDisabled}
      onClick={() => action.run(act)}
    >
      {props.children}
    </button>
  );
}
