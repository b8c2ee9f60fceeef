/** A button that asks first: what happens, and what cannot be taken back. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "./dialog.js";
import { Failure } from "./states.js";
import { useAction } from "./use-action.js";

export function Confirm(props: {
  /** On the button: `Revoke`. */
  readonly label: string;
  /** What it is done to, for those who do not see where the button stands. */
  readonly of?: string;
  readonly title: string;
  /** It can be taken back. */
  readonly isHarmless?: boolean;
  readonly children: ComponentChildren;
  readonly act: () => Promise<unknown>;
}) {
  const [isOpen, setOpen] = useState(false);
  const action = useAction();
  const isHarmless = props.isHarmless === true;
  return (
    <>
      <button
        type="button"
        class={isHarmless ? "button" : "button danger"}
        onClick={() => setOpen(true)}
      >
        {props.label}
        {props.of === undefined ? null : <span class="unseen"> {props.of}</span>}
      </button>
      {isOpen ? (
        <Dialog title={props.title} onClose={() => setOpen(false)}>
          <div class="stack">
            <Failure error={action.error} />
            <div>{props.children}</div>
            <p class="row-form">
              <button
                type="button"
                class={isHarmless ? "button primary" : "button danger"}
                disabled={action.isBusy}
                onClick={() =>
                  action.run(async () => {
                    await props.act();
                    setOpen(false);
                  })
                }
              >
                {props.label}
              </button>
              <button type="button" class="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
            </p>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
