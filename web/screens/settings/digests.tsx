/** The figures by e-mail: how often, when last, and what one looks like. */
import { useState } from "preact/hooks";
import type { z } from "zod";
import type { digestPreview, digests } from "../../../schemas/http/digests.js";
import { call, urlOf } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { useAction } from "../../parts/use-action.js";
import { When } from "../../parts/when.js";
import { useManagePath } from "./manage.js";

const frequencies = {
  off: "No e-mail",
  daily: "Every day",
  weekly: "Every week",
  monthly: "Every month",
} as const;
type Choice = keyof typeof frequencies;

export function Digests() {
  const path = `${useManagePath()}/digests`;
  const action = useAction();
  const { answer, error } = useUrl<One<z.output<typeof digests>>>(path);
  const [previewed, setPreviewed] = useState<Exclude<Choice, "off"> | null>(null);
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={2} columns={2} />;
  const { email, missing_settings: missing } = answer.data;
  const own = email?.frequency ?? "off";
  const choose = (choice: string): Promise<unknown> =>
    choice === "off"
      ? call("DELETE", `${path}/email`)
      : call("POST", `${path}/email`, { body: { frequency: choice } });
  return (
    <>
      {action.error === null ? null : <Failure error={action.error} />}
      <p>MRR and revenue of the period, and what changed and why, to your e-mail address.</p>
      {missing.length === 0 ? null : (
        <p>
          No e-mail can be sent yet: <code>{missing.join(", ")}</code> must be set.
        </p>
      )}
      <div class="row-form bottom settings-section">
        <label>
          Digest by e-mail
          <br />
          <select
            value={own}
            disabled={action.isBusy || (missing.length > 0 && email === null)}
            onChange={(event) => {
              const { value } = event.currentTarget;
              action.run(() => choose(value));
            }}
          >
            {Object.entries(frequencies).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          class="button"
          onClick={() => setPreviewed(own === "off" ? "weekly" : own)}
        >
          Preview
        </button>
      </div>
      {email === null ? null : (
        <dl class="facts settings-section">
          <dt>Last sent</dt>
          <dd>{email.sent_at === null ? "Not yet" : <When at={email.sent_at} />}</dd>
          <dt>{email.problem === null ? "Next" : "Next try"}</dt>
          <dd>
            <When at={email.next_at} />
          </dd>
          {email.problem === null ? null : (
            <>
              <dt>Last try failed</dt>
              <dd>{email.problem}</dd>
            </>
          )}
        </dl>
      )}
      {previewed === null ? null : <Preview path={path} frequency={previewed} />}
    </>
  );
}

function Preview({ path, frequency }: { readonly path: string; readonly frequency: string }) {
  const { answer, error } = useUrl<One<z.output<typeof digestPreview>>>(
    urlOf(`${path}/preview`, { frequency }),
  );
  if (error !== null) return <Failure error={error} />;
  if (answer === null) return <SkeletonTable rows={4} columns={1} />;
  return (
    <section class="settings-section" aria-label="Preview">
      <h2>{answer.data.subject}</h2>
      <pre class="digest-preview">{answer.data.text}</pre>
    </section>
  );
}
