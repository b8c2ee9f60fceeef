/** What was before the integration: read from the provider, compared with what is booked. */
import { call } from "../../../api/client.js";
import type { BackfillView, One, ProviderView } from "../../../api/manage-answers.js";
import { useReloadWhile, useUrl } from "../../../api/use-answer.js";
import { day, month } from "../../../format/dates.js";
import { words } from "../../../format/names.js";
import { count, money } from "../../../format/numbers.js";
import { ActionForm } from "../../../parts/action-form.js";
import { Fact } from "../../../parts/fact.js";
import { fieldOf } from "../../../parts/field.js";
import { Failure } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useAction } from "../../../parts/use-action.js";
import { useMayManage } from "../manage.js";
import { ExportFile } from "./export-file.js";
import { Limits, bothSides } from "./of-integration.js";

const states = {
  reading: { name: "Reading", mark: "waiting" },
  comparing: { name: "Comparing with what is booked", mark: "waiting" },
  done: { name: "Done: every month agrees with the provider", mark: "good" },
  different: { name: "Done: some months differ from the provider", mark: "bad" },
  failed: { name: "Failed", mark: "bad" },
} as const;

export function Backfill(props: { readonly path: string; readonly provider: ProviderView }) {
  const { path, provider } = props;
  const { history_export: file, history_ids: ids, history_missing: missing } = provider;
  const url = `${path}/backfill`;
  const isManager = useMayManage();
  const action = useAction();
  const { answer, error } = useUrl<One<BackfillView>>(url);
  const found = answer?.data ?? null;
  const isRunning = found?.state === "reading" || found?.state === "comparing";
  useReloadWhile(isRunning);
  return (
    <section>
      <h3>History</h3>
      <Failure error={error?.status === 404 ? null : error} />
      {found === null ? (
        <p class="soft">
          Events before the connection are read from{" "}
          {file === null
            ? "the provider's API. Needs credentials for it."
            : "a file that you download at the provider."}
        </p>
      ) : (
        <Progress of={found} />
      )}
      <Limits summary="What cannot be had" sentences={missing} />
      {isManager && !isRunning && file !== null ? <ExportFile path={path} file={file} /> : null}
      {isManager && !isRunning && file === null ? (
        <ActionForm
          action={action}
          class="row-form"
          send={(form) => {
            const from = fieldOf(form, "from");
            const given = fieldOf(form, "ids").split(/[\s,;]+/);
            const body = ids === null ? { from } : { from, ids: given.filter((id) => id !== "") };
            return call("POST", url, { body });
          }}
        >
          <label>
            <span class="unseen">First day of history</span>
            <input type="date" name="from" required max={new Date().toISOString().slice(0, 10)} />
          </label>
          {ids === null ? null : (
            <label class="field">
              Optional: {ids}
              <textarea name="ids" rows={3} />
            </label>
          )}
          <button type="submit" class="button" disabled={action.isBusy}>
            Read history from this day
          </button>
        </ActionForm>
      ) : null}
    </section>
  );
}

/** Nothing where the list that is read cannot tell. */
function Estimate({ of: { list, progress } }: { readonly of: BackfillView }) {
  const { months, months_done: done = null, list_seconds_left: left = null } = progress ?? {};
  if (done === null) return null;
  return (
    <p class="soft">
      {words(list)}: {count(done)} of {count(months ?? 0)} months
      {left === null ? "" : `, about ${timeOf(left)} left`}
    </p>
  );
}

function timeOf(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes > 90) return `${Math.round(minutes / 60)} hours`;
  return minutes === 1 ? "a minute" : `${minutes} minutes`;
}

function Progress({ of }: { readonly of: BackfillView }) {
  const different = (of.comparison ?? []).filter(({ same }) => !same);
  return (
    <div role="status">
      <p>
        <span class={`status ${states[of.state].mark}`}>{states[of.state].name}</span>
        <span class="soft"> since {day(of.from)}</span>
      </p>
      <Estimate of={of} />
      {of.problem === null ? null : <p class="loss">{of.problem}</p>}
      <dl class="facts">
        {Object.entries(of.counts).map(([list, read]) => (
          <Fact key={list} name={words(list)}>
            {count(read)}
            {of.state === "reading" && of.list === list ? " so far" : ""}
          </Fact>
        ))}
      </dl>
      {different.length === 0 ? null : (
        <Table
          caption="Months that differ"
          rows={different}
          rowKey={(row) => `${row.month} ${row.currency}`}
          columns={[
            { head: "Month", cell: (row) => month(`${row.month}-01`) },
            ...bothSides<(typeof different)[number]>("the provider", (row, side) =>
              money(row[side].amount, row.currency),
            ),
          ]}
        />
      )}
    </div>
  );
}
