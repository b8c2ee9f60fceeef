/** History from a file: what it would book is shown first, and booked when somebody says so. */
import { useState } from "preact/hooks";
import { call, urlOf } from "../../../api/client.js";
import type { ExportReport, One } from "../../../api/manage-answers.js";
import { day } from "../../../format/dates.js";
import { count, money } from "../../../format/numbers.js";
import { fieldOf } from "../../../parts/field.js";
import { Failure } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useAction } from "../../../parts/use-action.js";

interface Checked {
  readonly file: File;
  readonly report: ExportReport;
}

export function ExportFile(props: { readonly path: string; readonly file: string }) {
  const { path, file: which } = props;
  const url = `${path}/export`;
  const action = useAction();
  const [checked, setChecked] = useState<Checked | null>(null);
  const check = async (file: File): Promise<void> => {
    const { data } = await call<One<ExportReport>>("POST", `${url}/check`, { body: file });
    setChecked({ file, report: data });
  };
  return (
    <>
      <label class="field">
        {which}
        <input
          type="file"
          accept=".csv,.gz,.parquet"
          disabled={action.isBusy}
          onChange={({ currentTarget }) => {
            const [file] = currentTarget.files ?? [];
            setChecked(null);
            if (file !== undefined) action.run(() => check(file));
          }}
        />
      </label>
      {action.isBusy ? <p role="status">The file is being read…</p> : null}
      <Failure error={action.error} />
      {checked === null ? null : <Report of={checked.report} />}
      {checked === null || checked.report.first === null ? null : (
        <form
          class="row-form bottom"
          onSubmit={(event) => {
            event.preventDefault();
            const from = fieldOf(event.currentTarget, "from");
            action.run(async () => {
              await call("POST", urlOf(url, { from }), { body: checked.file });
              setChecked(null);
            });
          }}
        >
          <label class="field">
            The file has every purchase since
            <input
              type="date"
              name="from"
              required
              defaultValue={checked.report.first.slice(0, 10)}
              max={checked.report.as_of?.slice(0, 10)}
            />
          </label>
          <button type="submit" class="button" disabled={action.isBusy}>
            Book it
          </button>
        </form>
      )}
    </>
  );
}

function Report({ of }: { readonly of: ExportReport }) {
  const { purchases, first, as_of: asOf, sums, left_out: leftOut } = of;
  return (
    <div role="status">
      <p>
        Purchases that can be booked: {count(purchases)}
        {first === null || asOf === null ? "" : `, from ${day(first)} to ${day(asOf)}`}. Nothing is
        booked yet.
      </p>
      {leftOut.length === 0 ? null : (
        <>
          <p>Left out:</p>
          <ul>
            {leftOut.map(({ why, lines, first_line: line }) => (
              <li key={why}>
                {lines === 1 ? "line " : `${count(lines)} lines from line `}
                {count(line)}: <span class="soft">{why}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {sums.length === 0 ? null : (
        <Table
          caption="What it would book"
          rows={sums}
          rowKey={({ currency }) => currency}
          columns={[
            { head: "Currency", cell: ({ currency }) => currency },
            { head: "Payments", isNumber: true, cell: ({ payments }) => count(payments) },
            {
              head: "Paid",
              isNumber: true,
              cell: ({ amount, currency }) => money(amount, currency),
            },
            {
              head: "Refunded",
              isNumber: true,
              cell: ({ refunded, currency }) => money(refunded, currency),
            },
          ]}
        />
      )}
    </div>
  );
}
