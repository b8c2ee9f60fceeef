/** How old the exchange rates are. */
import type { One, RatesView } from "../../api/manage-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { day } from "../../format/dates.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";

const names: Readonly<Record<string, string>> = {
  ecb: "European Central Bank",
  wide: "Wide list, for currencies the ECB does not quote",
};

export function Rates() {
  const { answer, error } = useUrl<One<readonly RatesView[]>>("/v1/manage/rates");
  return (
    <>
      <div class="section-head">
        <p class="soft">
          An amount is converted once, with the rate of its day. Rates come after 16:00 on working
          days.
        </p>
      </div>
      <Failure error={error} />
      {answer === null && error === null ? <SkeletonTable rows={2} columns={3} /> : null}
      {answer === null ? null : (
        <Table
          caption="Sources of exchange rates"
          rows={answer.data}
          rowKey={({ source }) => source}
          columns={[
            { head: "Source", cell: ({ source }) => names[source] ?? source },
            {
              head: "Newest day",
              cell: ({ newest_day: newest }) => (newest === null ? "None" : day(newest)),
            },
            {
              head: "Age",
              cell: (row) => (
                <span class={`status ${row.stale ? "bad" : "good"}`}>
                  {row.age_days === null
                    ? "–"
                    : row.age_days === 1
                      ? "1 day"
                      : `${row.age_days} days`}
                </span>
              ),
            },
          ]}
        />
      )}
    </>
  );
}
