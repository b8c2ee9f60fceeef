/** The form of a new proof: what it shows, how exactly, and how that reads. */
import { useState } from "preact/hooks";
import type { ProofClaims, ProofFigure, ShownAs } from "../../../schemas/http/proofs.js";
import { call } from "../../api/client.js";
import type { One } from "../../api/manage-answers.js";
import { Spark } from "../../charts/spark.js";
import { providerName } from "../../format/names.js";
import { ActionForm } from "../../parts/action-form.js";
import { Dialog } from "../../parts/dialog.js";
import { fieldOf } from "../../parts/field.js";
import { Options } from "../../parts/options.js";
import { useAction } from "../../parts/use-action.js";
import { workspaceOf } from "../../state/session.js";
import { type Filters, useView } from "../../state/view.js";

export const figureNames: Readonly<Record<ProofFigure, string>> = {
  mrr: "MRR",
  arr: "ARR",
  active_subscribers: "Active subscribers",
  arpa: "MRR per subscriber",
  mrr_growth: "Growth of MRR over a month",
  customer_churn: "Customer churn",
  mrr_churn: "MRR churn",
  net_mrr_churn: "Net MRR churn",
  revenue: "Revenue",
  net_revenue: "Revenue less tax and fees",
  mrr_over_time: "MRR over time",
  subscribers_over_time: "Subscribers over time",
  revenue_over_time: "Revenue by month",
};

const ofMoment: ReadonlySet<string> = new Set([
  "mrr",
  "arr",
  "active_subscribers",
  "arpa",
  "mrr_growth",
]);
const rates: ReadonlySet<string> = new Set([
  "mrr_growth",
  "customer_churn",
  "mrr_churn",
  "net_mrr_churn",
]);

export const shownNames: Readonly<Record<ShownAs, string>> = {
  exact: "exact",
  two_digits: "two digits",
  at_least: "at least",
  index: "amounts hidden",
};

const choices: readonly (readonly [ShownAs, string, (figure: string) => boolean])[] = [
  ["exact", "Exactly", () => true],
  ["two_digits", "Rounded to two digits: about 12,000", () => true],
  ["at_least", "A lower bound: at least 10,000", (figure) => !rates.has(figure)],
  ["index", "Without amounts: the first month is 100", (figure) => figure.endsWith("over_time")],
];

export function NewProof(props: { readonly path: string; readonly onClose: () => void }) {
  const { path, onClose } = props;
  const view = useView();
  const action = useAction();
  const [figure, setFigure] = useState<string>("mrr");
  const [claims, setClaims] = useState<ProofClaims | null>(null);
  const filters = view.mrrFilters;
  const bodyOf = (form: HTMLFormElement): object => {
    const ends = fieldOf(form, "expires");
    return {
      figure,
      title: fieldOf(form, "title"),
      business: fieldOf(form, "business"),
      filters,
      shown_as: fieldOf(form, "shown_as"),
      frozen: fieldOf(form, "frozen") === "yes",
      ...(ofMoment.has(figure) ? {} : { months: Number(fieldOf(form, "months")) }),
      ...(ends === "" ? {} : { expires_at: `${ends}T23:59:59Z` }),
    };
  };
  const preview = async (form: HTMLFormElement): Promise<void> => {
    const body = bodyOf(form);
    const { data } = await call<One<ProofClaims>>("POST", `${path}/preview`, { body });
    setClaims(data);
  };
  const publish = async (form: HTMLFormElement): Promise<void> => {
    await call("POST", path, { body: bodyOf(form) });
    onClose();
  };
  return (
    <Dialog title="New proof" onClose={onClose}>
      <ActionForm
        action={action}
        class="stack"
        onChange={() => setClaims(null)}
        send={(form, submitter) => {
          const isPreview = submitter?.getAttribute("name") === "preview";
          return isPreview ? preview(form) : publish(form);
        }}
      >
        <label>
          Title
          <input type="text" name="title" maxLength={200} required />
        </label>
        <label>
          Name of the business, as strangers read it
          <input
            type="text"
            name="business"
            maxLength={200}
            required
            defaultValue={workspaceOf(view.workspace)?.name ?? ""}
          />
        </label>
        <label>
          Figure
          <select
            name="figure"
            value={figure}
            onChange={(event) => setFigure(event.currentTarget.value)}
          >
            <Options of={Object.entries(figureNames)} />
          </select>
        </label>
        {ofMoment.has(figure) ? null : (
          <label>
            Whole months
            <input type="number" name="months" min={1} max={36} defaultValue="12" required />
          </label>
        )}
        <p class="soft">{partOf(filters)}</p>
        <label>
          Shown
          <select name="shown_as">
            <Options
              of={choices.flatMap(([value, label, fits]) => (fits(figure) ? [[value, label]] : []))}
            />
          </select>
        </label>
        <label>
          From now on
          <select name="frozen">
            <option value="no">Live: the page follows the figure</option>
            <option value="yes">Frozen: for ever what is known now</option>
          </select>
        </label>
        <label>
          Last day (empty: public until you revoke it)
          <input type="date" name="expires" min={new Date().toISOString().slice(0, 10)} />
        </label>
        {claims === null ? null : <Preview claims={claims} />}
        <p class="row-form">
          <button type="submit" class="button primary" disabled={action.isBusy}>
            Publish
          </button>
          <button type="submit" class="button" name="preview" disabled={action.isBusy}>
            Preview
          </button>
        </p>
      </ActionForm>
    </Dialog>
  );
}

function partOf(filters: Filters): string {
  const parts = Object.entries(filters).map(([name, value]) =>
    name === "segment" ? "the segment" : `${name}: ${value}`,
  );
  return parts.length === 0
    ? "Of the whole business. To publish a part, filter any screen first, then come back."
    : `Only of ${parts.join(", ")}, as filtered; the page says which part that is.`;
}

function Preview({ claims }: { readonly claims: ProofClaims }) {
  const { name, period, series, text, known_by: known } = claims;
  const providers = new Set(known.integrations.map(({ provider }) => providerName(provider)));
  const agreed = known.integrations.flatMap(({ reconciliation }) => reconciliation ?? []);
  return (
    <div class="notice" role="status">
      <p>
        <strong>{text}</strong>
      </p>
      <p>
        {name}
        {period === null ? null : `, ${period.from} to ${period.to}`}
      </p>
      {series === null ? null : <Spark values={series.flatMap(({ value }) => value ?? [])} />}
      <p class="soft">
        {providers.size === 0
          ? "No provider is connected; the page says so."
          : `Known from ${[...providers].join(", ")}.`}
        {agreed.map(({ month, score_pct: score }) => ` Of ${month}, ${score}% of the cents agree.`)}
      </p>
    </div>
  );
}
