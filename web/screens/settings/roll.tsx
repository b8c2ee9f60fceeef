/** A new key or secret in the place of one, which goes on until all programs have changed over. */
import { ActionForm } from "../../parts/action-form.js";
import { Dialog } from "../../parts/dialog.js";
import { fieldOf } from "../../parts/field.js";
import { Options } from "../../parts/options.js";
import { useAction } from "../../parts/use-action.js";

const overlaps = [
  ["24h", "24 hours"],
  ["1h", "1 hour"],
  ["7d", "7 days"],
  ["none", "It ends now"],
] as const;

export function Roll(props: {
  readonly title: string;
  readonly what: "key" | "secret";
  /** @param overlap how long the old one goes on */
  readonly roll: (overlap: string) => Promise<void>;
  readonly onClose: () => void;
}) {
  const { what } = props;
  const action = useAction();
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <ActionForm
        action={action}
        submit={`Make the new ${what}`}
        class="stack"
        send={(form) => props.roll(fieldOf(form, "overlap"))}
      >
        <p class="soft">
          {what === "key"
            ? "Makes a new key of the same name and rights. The old one stops by itself."
            : "Makes a new secret. While the old one goes on, every call is signed by both."}
        </p>
        <label>
          The old {what} goes on for
          <select name="overlap">
            <Options of={overlaps} />
          </select>
        </label>
      </ActionForm>
    </Dialog>
  );
}
