/** Why another tool shows another MRR: both figures, the rules, and the accounts they concern. */
import { useLocation } from "preact-iso";
import type { MrrCompareAnswer } from "../../../api/mrr-compare/schema.js";
import { useAnswer } from "../../api/use-answer.js";
import { providerName, words } from "../../format/names.js";
import { count, money, signedMoney } from "../../format/numbers.js";
import { AccountLink } from "../../parts/customer.js";
import { Choice, Menu } from "../../parts/menu.js";
import { More, usePages } from "../../parts/pages.js";
import { Reading } from "../../parts/reading.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { Term } from "../../parts/term.js";
import { Bar } from "../../shell/bar.js";
import { dayText } from "../../state/ranges.js";
import { useView } from "../../state/view.js";
import { ExportMenu } from "../series-exports.js";
import { OverTime } from "./over-time.js";

const path = "/v1/metrics/mrr/compare";
const usual = "stripe";

type Account = MrrCompareAnswer["data"][number];
type Comparison = MrrCompareAnswer["comparison"];

export default function Compare() {
  const view = useView();
  const definition = view.get("definition") ?? usual;
  const { provider, segment } = view.filters;
  const params = { ...view.clocks, at: view.get("of") ?? view.at, definition, provider, segment };
  const { answer, error, isStale } = useAnswer(path, params);
  const list = usePages<Account>(path, { ...view.tenant, ...params }, answer);
  const comparison = answer?.comparison;
  return (
    <>
      <Bar title="Definitions of MRR" controls={{ filters: ["provider"] }}>
        <DefinitionMenu shown={definition} comparison={comparison} />
        <ExportMenu path={path} params={params} />
      </Bar>
      <Failure error={error} />
      {comparison === undefined ? null : (
        <div class={isStale ? "is-stale" : ""}>
          <p class="answer">{sentenceOf(comparison)}</p>
          <Moment />
          <div class="readings">
            <Reading label="Ours" value={money(comparison.ours, comparison.currency)} />
            <Reading
              label={comparison.label}
              value={money(comparison.theirs, comparison.currency)}
            />
            <Reading
              label="Difference"
              value={signedMoney(comparison.difference, comparison.currency)}
            />
          </div>
          <OverTime definition={definition} label={comparison.label} at={params.at} />
          <Rules comparison={comparison} />
        </div>
      )}
      {answer === null && error === null ? <SkeletonTable rows={8} columns={5} /> : null}
      {comparison === undefined || list.rows.length === 0 ? null : (
        <>
          <h2 class="table-title">Accounts</h2>
          <Accounts rows={list.rows} comparison={comparison} />
          <More of={list} />
        </>
      )}
    </>
  );
}

function DefinitionMenu(props: {
  readonly shown: string;
  readonly comparison: Comparison | undefined;
}) {
  const view = useView();
  const { shown, comparison } = props;
  const others = comparison?.definitions.filter(({ name }) => name !== "ours") ?? [];
  const label = others.find(({ name }) => name === shown)?.label ?? words(shown);
  return (
    <Menu name="Beside ours" label={label}>
      {others.map(({ name, label: tool }) => (
        <Choice key={name} href={view.with({ definition: name })} isCurrent={name === shown}>
          {tool}
        </Choice>
      ))}
    </Menu>
  );
}

/** Of a month that is over, more is known. */
function Moment() {
  const view = useView();
  const { route } = useLocation();
  const of = view.get("of") ?? dayText(view.end);
  return (
    <p class="intro">
      <Term of="mrr" />{" "}
      <label>
        at the end of{" "}
        <input
          type="date"
          value={of.slice(0, "YYYY-MM-DD".length)}
          max={dayText(view.end)}
          onChange={(event) => {
            const { value } = event.currentTarget;
            route(view.with({ of: value === "" ? null : value }));
          }}
        />
      </label>
    </p>
  );
}

function Rules({ comparison }: { readonly comparison: Comparison }) {
  const { rules, currency, definition } = comparison;
  return (
    <>
      <h2 class="table-title">Rules</h2>
      <p class="soft intro">
        All others give the same figure, or cannot be told from what is kept:{" "}
        <a href={`/docs/definitions/${definition}.md`}>each with its source</a>.
      </p>
      <Table
        caption="The rules that differ from ours"
        rows={rules}
        rowKey={({ rule }) => rule}
        columns={[
          { head: "Rule", cell: ({ rule }) => words(rule) },
          {
            head: "Difference",
            isNumber: true,
            cell: ({ difference }) => signedMoney(difference, currency),
          },
          { head: "Accounts", isNumber: true, cell: ({ accounts }) => count(accounts) },
          // Whole, however long: it is why this screen was opened.
          { head: "What it says", cell: ({ text }) => <>{text}</> },
        ]}
      />
    </>
  );
}

function Accounts(props: { readonly rows: readonly Account[]; readonly comparison: Comparison }) {
  const { rows, comparison } = props;
  const { currency, label } = comparison;
  return (
    <Table
      caption="Accounts that make the difference, the largest first"
      rows={rows}
      rowKey={({ account }) => account}
      columns={[
        {
          head: "Account",
          cell: ({ account, customer }) => <AccountLink account={account} customer={customer} />,
          foot: `All ${count(comparison.accounts)}`,
        },
        {
          head: "Difference",
          isNumber: true,
          cell: ({ difference }) => signedMoney(difference, currency),
          foot: signedMoney(comparison.difference, currency),
        },
        { head: "By", cell: (row) => <By row={row} currency={currency} /> },
        { head: "Ours", isNumber: true, cell: ({ ours }) => money(ours, currency) },
        { head: label, isNumber: true, cell: ({ theirs }) => money(theirs, currency) },
        { head: "Provider", cell: (row) => providerName(row.provider) },
      ]}
    />
  );
}

function By({ row, currency }: { readonly row: Account; readonly currency: string }) {
  const isOnly = row.rules.length === 1;
  return (
    <>
      {row.rules.map(({ rule, difference }) => (
        <span key={rule} class="tight kind">
          {isOnly ? words(rule) : `${words(rule)} ${signedMoney(difference, currency)}`}
        </span>
      ))}
    </>
  );
}

/** Both definitions side by side, in one sentence made from the figures. */
function sentenceOf(comparison: MrrCompareAnswer["comparison"]): string {
  const { label, theirs, difference, accounts, currency } = comparison;
  const figure = `By the rules of ${label} MRR is ${money(theirs, currency)}`;
  if (accounts === 0) return `${figure}, as by ours.`;
  const who = accounts === 1 ? "one account" : `${count(accounts)} accounts`;
  if (difference === 0) return `${figure}, as by ours, with ${who} counted otherwise.`;
  const size = `${money(Math.abs(difference), currency)} ${difference > 0 ? "more" : "less"}`;
  return `${figure}, ${size} than by ours: ${who} counted otherwise.`;
}
