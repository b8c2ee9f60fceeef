/** The newest transactions, as they are booked. */
import { liveRows } from "../../api/live.js";
import { useAnswer } from "../../api/use-answer.js";
import { money } from "../../format/numbers.js";
import { providerName, words } from "../../format/names.js";
import { Failure, Skeleton } from "../../parts/states.js";
import { When } from "../../parts/when.js";
import { useView } from "../../state/view.js";
import { connectAction } from "../connect-action.js";

const shownMax = 8;

export function Strip() {
  const view = useView();
  const connect = connectAction(view);
  const { filters } = view;
  const params = { limit: String(shownMax), ...filters };
  const { answer, error } = useAnswer("/v1/transactions", params);
  // Of a part there is what is listed, asked again as others come.
  const isAll = Object.keys(filters).length === 0;
  const live = isAll && !view.isFrozen ? liveRows.value : [];
  const ids = new Set(live.map(({ id }) => id));
  const listed = (answer?.data ?? []).filter(({ id }) => !ids.has(id));
  const rows = [...live, ...listed]
    .sort((one, other) => other.timestamp.localeCompare(one.timestamp))
    .slice(0, shownMax);
  return (
    <section class="strip">
      <h2>
        Newest transactions
        <a href={view.to("/live")}>Live feed</a>
      </h2>
      <Failure error={answer === null ? error : null} />
      <ul>
        {rows.map((row) => (
          <li key={row.id}>
            <a href={view.to("/transactions", { open: row.id })}>{row.product_name}</a>
            <span>{money(row.gross_amount, row.original_currency)}</span>
            <span class="soft small">
              {providerName(row.provider)} · <When at={row.timestamp} />
            </span>
            <span class="soft small">{row.status === "succeeded" ? "" : words(row.status)}</span>
          </li>
        ))}
        {answer !== null && rows.length === 0 ? (
          <li>
            <span class="soft">{isAll ? "Nothing yet." : "Nothing of this part."}</span>
            {connect === null ? null : <a href={connect.href}>{connect.label}</a>}
          </li>
        ) : null}
        {answer === null && error === null
          ? Array.from({ length: shownMax }, (_row, index) => (
              <li key={index}>
                <Skeleton of="A product's name" />
                <Skeleton of="12.34" />
                <span class="small">
                  <Skeleton of="Provider and day" />
                </span>
              </li>
            ))
          : null}
      </ul>
    </section>
  );
}
