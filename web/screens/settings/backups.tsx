/** Backups of the whole installation, to a folder of its machine. */
import { call } from "../../api/client.js";
import type { BackupView, One } from "../../api/manage-answers.js";
import { useReloadWhile, useUrl } from "../../api/use-answer.js";
import { count } from "../../format/numbers.js";
import { ActionForm } from "../../parts/action-form.js";
import { Fact } from "../../parts/fact.js";
import { fieldOf } from "../../parts/field.js";
import { Failure } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { When } from "../../parts/when.js";

const path = "/v1/manage/backups";

const states = {
  running: { name: "Running", mark: "waiting" },
  done: { name: "Done", mark: "good" },
  failed: { name: "Failed", mark: "bad" },
} as const;

export function Backups() {
  const action = useAction();
  const { answer, error } = useUrl<One<BackupView>>(`${path}/last`);
  const last = answer?.data ?? null;
  const isRunning = last?.state === "running";
  useReloadWhile(isRunning);
  return (
    <>
      <div class="section-head">
        <p class="soft">
          Everything but the vault key, which you keep elsewhere. For a backup each night see{" "}
          <a href="/docs/operating">Operating</a>.
        </p>
      </div>
      <Failure error={error?.status === 404 ? null : error} />
      <ActionForm
        action={action}
        class="row-form bottom settings-section"
        send={(form) => call("POST", path, { body: { to: fieldOf(form, "to") } })}
      >
        <label>
          Folder on the machine of this service
          <input type="text" name="to" required placeholder="/var/backups/revenue" />
        </label>
        <button type="submit" class="button" disabled={action.isBusy || isRunning}>
          Back up now
        </button>
      </ActionForm>
      <h2>Last backup</h2>
      {last === null ? <p class="soft">None since this process started.</p> : <Last of={last} />}
    </>
  );
}

function Last({ of }: { readonly of: BackupView }) {
  const { name, mark } = states[of.state];
  return (
    <dl class="facts" aria-live="polite">
      <Fact name="State">
        <span class={`status ${mark}`}>{name}</span>
        {of.problem === null ? null : <p class="loss">{of.problem}</p>}
      </Fact>
      <Fact name="Began">
        <When at={of.started_at} />
      </Fact>
      <Fact name="Ended">
        <When at={of.ended_at} none="Not yet" />
      </Fact>
      <Fact name="Folder">
        <code>{of.path ?? of.to}</code>
      </Fact>
      {of.bytes === null ? null : (
        <Fact name="Size">{count(Math.ceil(of.bytes / 1_000_000))} MB</Fact>
      )}
    </dl>
  );
}
