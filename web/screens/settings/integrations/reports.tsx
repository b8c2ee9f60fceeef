/** Monthly reports of an app store: which there are, and each beside what is booked. */
import { useEffect, useRef, useState } from "preact/hooks";
import { call, CallError } from "../../../api/client.js";
import type {
  CheckedReport,
  ComparedReport,
  KeptReport,
  One,
  ProviderView,
  ReportFetchView,
} from "../../../api/manage-answers.js";
import { useReloadWhile, useUrl } from "../../../api/use-answer.js";
import { moment, month as monthName } from "../../../format/dates.js";
import { count, minorMoney } from "../../../format/numbers.js";
import { ActionButton } from "../../../parts/action-form.js";
import { Confirm } from "../../../parts/confirm.js";
import { Failure } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useAction } from "../../../parts/use-action.js";
import { When } from "../../../parts/when.js";
import { useView } from "../../../state/view.js";
import { useMayManage } from "../manage.js";
import type { OfIntegration } from "./of-integration.js";

const kindNames: Readonly<Record<KeptReport["kind"], string>> = {
  sales: "Sales and Trends",
  finance: "Financial report",
  estimated_sales: "Estimated sales",
  earnings: "Earnings",
};
/** Rows that are shown at first: half a year of two kinds. */
const shownFirst = 12;
/** Currencies of one report that are shown in its row. */
const currenciesMax = 3;
/** Products and currencies of one report; the largest differences come first. */
const comparedMax = 200;

function nameOf({ kind, month }: Pick<KeptReport, "kind" | "month">): string {
  return `${kindNames[kind]} of ${monthName(`${month}-01`)}`;
}

export function Reports({ provider, path }: OfIntegration) {
  const view = useView();
  const isManager = useMayManage();
  const url = `${path}/reports`;
  const { answer, error } = useUrl<One<readonly KeptReport[]>>(url);
  const fetching = useUrl<One<ReportFetchView>>(`${url}/fetch`).answer?.data ?? null;
  useReloadWhile(fetching?.state === "waiting");
  const reports = answer?.data ?? [];
  const opened = reports.find((report) => keyOf(report) === view.get("report"));
  return (
    <section>
      <h3>Monthly reports of {provider.name}</h3>
      <p class="soft">
        The store lists no payments, but reports the sums of each month. They stand beside what is
        booked and change no figure.
      </p>
      <Failure error={error} />
      {fetching === null ? null : (
        <Fetching of={fetching} url={`${url}/fetch`} provider={provider} isManager={isManager} />
      )}
      {reports.length === 0 ? null : (
        <List
          {...{ reports, url, provider, isManager }}
          isFetched={fetching?.is_possible === true}
        />
      )}
      {opened === undefined ? null : <Compared of={opened} url={url} provider={provider} />}
      {isManager ? <Upload url={url} files={provider.reports ?? ""} /> : null}
    </section>
  );
}

function keyOf({ kind, month }: Pick<KeptReport, "kind" | "month">): string {
  return `${kind}/${month}`;
}

function Fetching(props: {
  readonly of: ReportFetchView;
  readonly url: string;
  readonly provider: ProviderView;
  readonly isManager: boolean;
}) {
  const { of, url, provider, isManager } = props;
  const action = useAction();
  if (!of.is_possible) {
    return (
      <p class="soft">
        They can be fetched every night, given credentials for them (
        <a href={`${provider.docs_path}#reports`}>which</a>); enter those below under Rotate
        credentials.
      </p>
    );
  }
  const isBusy = of.state === "waiting" && of.problem === null;
  return (
    <>
      <Failure error={action.error} />
      <p role="status">
        Those of the last twelve months are fetched every night
        {of.fetched_at === null ? "." : null}
        {of.fetched_at === null ? null : (
          <span class="soft">
            , last <When at={of.fetched_at} />
            {of.kept === 0 ? " (nothing new)" : ` (${count(of.kept)} new)`}
          </span>
        )}
      </p>
      {of.problem === null ? null : (
        <p class="loss">
          {of.problem}
          {of.state === "waiting" ? (
            " It is tried again."
          ) : (
            <>
              {" "}
              <a href={`${provider.docs_path}#reports`}>Which access is needed</a>
            </>
          )}
        </p>
      )}
      {isManager ? (
        <p>
          <ActionButton action={action} act={() => call("POST", url)} isDisabled={isBusy}>
            {isBusy ? "Fetching…" : "Fetch now"}
          </ActionButton>
        </p>
      ) : null}
    </>
  );
}

function List(props: {
  readonly reports: readonly KeptReport[];
  readonly url: string;
  readonly provider: ProviderView;
  readonly isManager: boolean;
  readonly isFetched: boolean;
}) {
  const { reports, url, provider, isManager, isFetched } = props;
  const view = useView();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? reports : reports.slice(0, shownFirst);
  return (
    <>
      <Table
        caption={`Monthly reports of ${provider.name}`}
        rows={shown}
        rowKey={keyOf}
        isCurrent={(row) => keyOf(row) === view.get("report")}
        columns={[
          {
            head: "Month",
            cell: (row) => (
              <a class="tight" href={view.with({ report: keyOf(row) })}>
                {monthName(`${row.month}-01`)}
                <span class="unseen"> {kindNames[row.kind]}, beside what is booked</span>
              </a>
            ),
          },
          { head: "Report", cell: ({ kind }) => kindNames[kind] },
          {
            head: "Source",
            cell: ({ source, uploaded_at: at }) => (
              <>
                {source === "api" ? "Fetched" : "File"}
                <div class="soft small">
                  <When at={at} />
                </div>
              </>
            ),
          },
          {
            head: "Paid",
            isNumber: true,
            cell: (row) => amounts(row.sums, ({ paid_minor: paid }) => paid),
          },
          {
            head: "Refunded",
            isNumber: true,
            cell: (row) => amounts(row.sums, ({ refunded_minor: back }) => back),
          },
          {
            head: "Proceeds",
            isNumber: true,
            cell: (row) => amounts(row.proceeds, ({ amount_minor: paid }) => paid),
          },
          ...(isManager
            ? [
                {
                  head: <span class="unseen">Delete</span>,
                  cell: (row: KeptReport) => (
                    <Confirm
                      label="Delete"
                      of={nameOf(row)}
                      title={`Delete ${nameOf(row)}?`}
                      act={() => call("DELETE", `${url}/${keyOf(row)}`)}
                    >
                      {isFetched
                        ? "The next fetch brings it again, if it is of the last twelve months."
                        : "No figure changes, and the file can be uploaded again."}
                    </Confirm>
                  ),
                },
              ]
            : []),
        ]}
      />
      {shown.length === reports.length ? null : (
        <p>
          <button type="button" class="button" onClick={() => setWhole(true)}>
            Show all {count(reports.length)}
          </button>
        </p>
      )}
    </>
  );
}

function amounts<Sum extends { readonly currency: string; readonly exponent: number }>(
  sums: readonly Sum[],
  minorOf: (sum: Sum) => number,
) {
  const shown = sums.slice(0, currenciesMax);
  const more = sums.length - shown.length;
  return (
    <>
      {sums.length === 0 ? <span class="soft">–</span> : null}
      {shown.map((sum) => (
        <div key={sum.currency}>{minorMoney(minorOf(sum), sum)}</div>
      ))}
      {more > 0 ? <div class="soft small">in {count(more)} more</div> : null}
    </>
  );
}

function Compared(props: {
  readonly of: KeptReport;
  readonly url: string;
  readonly provider: ProviderView;
}) {
  const { of, url, provider } = props;
  const view = useView();
  const { answer, error } = useUrl<One<ComparedReport>>(`${url}/${keyOf(of)}`, false);
  const rows = answer?.data.rows ?? [];
  const left = rows.length - comparedMax;
  const place = useRef<HTMLDivElement>(null);
  const isThere = answer !== null;
  // The row that was clicked may be far above.
  useEffect(() => place.current?.scrollIntoView(), [keyOf(of), isThere]);
  return (
    <div class="differences" ref={place}>
      <h4>
        {nameOf(of)} <a href={view.with({ report: null })}>Close</a>
      </h4>
      <p class="soft small">
        From {moment(of.from)} to {moment(of.to)}, as the store counts its days.
      </p>
      <Failure error={error} />
      {answer === null ? null : (
        <Table
          caption={`${nameOf(of)} beside what is booked`}
          rows={rows.slice(0, comparedMax)}
          rowKey={({ product, currency }) => `${product} ${currency}`}
          columns={[
            { head: "Product", cell: ({ product }) => product },
            { head: `At ${provider.name}`, isNumber: true, cell: (row) => side(row, "reported") },
            { head: "Booked", isNumber: true, cell: (row) => side(row, "booked") },
            {
              head: "Difference",
              isNumber: true,
              cell: (row) =>
                row.difference_minor === 0 ? (
                  <span class="soft">None</span>
                ) : (
                  <span class="loss">{minorMoney(row.difference_minor, row)}</span>
                ),
            },
          ]}
        />
      )}
      {left > 0 ? <p class="soft small">And {count(left)} with smaller differences.</p> : null}
    </div>
  );
}

function side(row: ComparedReport["rows"][number], of: "reported" | "booked") {
  const written = (minor: number) => minorMoney(minor, row);
  const refunded = row[`${of}_refunded_minor`];
  return (
    <>
      {written(row[`${of}_paid_minor`])}
      {refunded === 0 ? null : <div class="soft small">{written(refunded)} refunded</div>}
    </>
  );
}

interface Outcome {
  readonly file: string;
  /** What it is, or why it is refused. */
  readonly text: string;
  readonly isKept: boolean;
}

/** One after another: the service reads one file of a workspace at a time. */
function Upload({ url, files }: { readonly url: string; readonly files: string }) {
  const action = useAction();
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const upload = async (chosen: readonly File[]): Promise<void> => {
    for (const file of chosen) {
      const outcome = await uploaded(url, file);
      setOutcomes((known) => [...known, outcome]);
    }
  };
  return (
    <>
      <label class="field">
        Upload {files}
        <input
          type="file"
          multiple
          accept=".gz,.txt,.tsv,.csv,.zip"
          disabled={action.isBusy}
          onChange={({ currentTarget: input }) => {
            const chosen = [...(input.files ?? [])];
            // So that the same file can be chosen again.
            input.value = "";
            setOutcomes([]);
            if (chosen.length > 0) action.run(() => upload(chosen));
          }}
        />
      </label>
      <div role="status">
        {action.isBusy ? <p>The files are being read…</p> : null}
        {outcomes.length === 0 ? null : (
          <ul>
            {outcomes.map(({ file, text, isKept }) => (
              <li key={file} class={isKept ? undefined : "loss"}>
                {file}: {text}
              </li>
            ))}
          </ul>
        )}
      </div>
      <Failure error={action.error} />
    </>
  );
}

/** @throws CallError where it is not the file's fault */
async function uploaded(url: string, file: File): Promise<Outcome> {
  try {
    const { data } = await call<One<CheckedReport>>("POST", url, { body: file });
    const text = `${nameOf(data)}, ${count(data.lines)} lines`;
    return { file: file.name, text, isKept: true };
  } catch (thrown) {
    const error = CallError.of(thrown);
    if (error.status !== 422 && error.status !== 413) throw error;
    return { file: file.name, text: error.message, isKept: false };
  }
}
