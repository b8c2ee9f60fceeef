/** Segments: filters under a name, in the menu of filters and as a chip. Loaded when shown. */
import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import type { z } from "zod";
import type { SegmentView, writtenSegment } from "../../schemas/http/segments.js";
import { call } from "../api/client.js";
import type { One } from "../api/manage-answers.js";
import { reloadAnswers } from "../api/use-answer.js";
import { filterValueName } from "../format/names.js";
import { shortMoney } from "../format/numbers.js";
import { ActionForm } from "../parts/action-form.js";
import { Confirm } from "../parts/confirm.js";
import { fieldOf } from "../parts/field.js";
import { Menu } from "../parts/menu.js";
import { useSegments } from "../parts/segments.js";
import { useAction } from "../parts/use-action.js";
import { filterOf } from "../state/filter.js";
import { mayManage, workspaceOf } from "../state/session.js";
import { type FilterName, type View, mrrFilterNames, segmentShown } from "../state/view.js";

export default function SegmentChip({ view }: { readonly view: View }) {
  const { url, list } = useSegments(view);
  const { route } = useLocation();
  const [id = "", revision] = view.get("segment")?.split(".") ?? [];
  const found = list?.find((each) => each.id === id);
  const isNewest = found !== undefined && Number(revision ?? found.revision) === found.revision;
  useEffect(() => {
    segmentShown.value = found === undefined ? null : `${id}.${found.revision}`;
    return () => {
      segmentShown.value = null;
    };
  }, [id, found?.revision]);
  const without = view.with({ segment: null });
  const { first_price: firstPrice, ...filters } = found?.filters ?? {};
  const currency = workspaceOf(view.workspace)?.base_currency ?? "EUR";
  return (
    <Menu name="Segment" label={found?.name ?? (list === null ? "…" : "A deleted segment")}>
      {isNewest ? <Filters of={found} currency={currency} /> : null}
      {found !== undefined && !isNewest ? (
        <p class="soft small menu-text">As it was at revision {revision}; it changed since.</p>
      ) : null}
      <a href={without}>Remove the segment</a>
      {isNewest && found.accounts === null && firstPrice === undefined ? (
        <a href={view.with({ ...filters, segment: null })}>Show its filters instead</a>
      ) : null}
      {found !== undefined && mayManage(workspaceOf(view.workspace)) ? (
        <Confirm
          label="Delete"
          of={found.name}
          title={`Delete “${found.name}”?`}
          act={async () => {
            await call("DELETE", `${url}/${id}`);
            reloadAnswers();
            route(without);
          }}
        >
          Alerts and digests of it stop, and say so. Frozen links go on showing it.
        </Confirm>
      ) : null}
    </Menu>
  );
}

function Filters({ of, currency }: { readonly of: SegmentView; readonly currency: string }) {
  const [from, below] = (of.filters.first_price ?? "").split("-").map(Number);
  return (
    <ul class="small menu-text">
      {mrrFilterNames.flatMap((name) => {
        const text = of.filters[name];
        return text === undefined ? [] : [<li key={name}>{sayFilter(name, text)}</li>];
      })}
      {from === undefined || of.filters.first_price === undefined ? null : (
        <li>
          First price: from {shortMoney(from, currency)}
          {below ? ` to below ${shortMoney(below, currency)}` : ""} a month
        </li>
      )}
      {of.accounts === null ? null : <li>{of.accounts} customers of a list</li>}
    </ul>
  );
}

const labels = {
  provider: "Provider",
  product: "Product",
  currency: "Currency",
  country: "Country",
  plan_interval: "Billed",
  vintage: "Began in",
} as const satisfies Readonly<Record<FilterName, string>>;

const valuesMax = 5;

function sayFilter(name: FilterName, text: string): string {
  const { isNot, values } = filterOf(text);
  const names = values.slice(0, valuesMax).map((value) => filterValueName(name, value));
  const more = values.length - names.length;
  // Their names are the catalogue's.
  const list =
    name === "product"
      ? `${values.length} of the products`
      : [...names, ...(more > 0 ? [`${more} more`] : [])].join(", ");
  return `${labels[name]}${isNot ? " is not" : ""}: ${list}`;
}

/** What there is to choose above the filters, and below them a form that saves them. */
export function SegmentMenu(props: { readonly view: View; readonly children: ComponentChildren }) {
  const { view, children } = props;
  const { url, list } = useSegments(view);
  const isManager = mayManage(workspaceOf(view.workspace));
  const shown = view.get("segment")?.split(".")[0];
  return (
    <>
      {list === null || list.length === 0 ? null : (
        <fieldset class="plain-set">
          <legend class="soft small">Segment</legend>
          <div class="menu-list">
            {list.map(({ id, name }) => (
              <a
                key={id}
                href={view.with({ segment: id })}
                aria-current={id === shown ? "true" : undefined}
              >
                <span class="cut">{name}</span>
              </a>
            ))}
          </div>
        </fieldset>
      )}
      {children}
      {isManager && list !== null ? <Save view={view} url={url} list={list} /> : null}
    </>
  );
}

/** Under the name of one that is there it changes that one. */
function Save(props: {
  readonly view: View;
  readonly url: string;
  readonly list: readonly SegmentView[];
}) {
  const { view, url, list } = props;
  const { route } = useLocation();
  const action = useAction();
  const [name, setName] = useState("");
  const [unmatched, setUnmatched] = useState<readonly string[]>([]);
  const { segment, ...filters } = view.mrrFilters;
  const same = list.find((each) => each.name === name.trim());
  const currency = workspaceOf(view.workspace)?.base_currency ?? "EUR";
  const save = async (form: HTMLFormElement): Promise<void> => {
    const customers = (await fileText(form)) || fieldOf(form, "customers").trim();
    const [from, below] = [fieldOf(form, "price_from"), fieldOf(form, "price_below")];
    const price = from + below === "" ? {} : { first_price: `${from || "0"}-${below}` };
    const content = {
      filters: { ...filters, ...price },
      ...(customers === "" ? {} : { customers }),
    };
    const environment = view.environment === "test" ? "Test" : "Production";
    const { data } =
      same === undefined
        ? await call<Saved>("POST", url, { body: { name, environment, ...content } })
        : await call<Saved>("PATCH", `${url}/${same.id}`, { body: content });
    setUnmatched(data.unmatched ?? []);
    form.reset();
    setName("");
    reloadAnswers();
    const none = Object.fromEntries(mrrFilterNames.map((each) => [each, null]));
    route(view.with({ ...none, segment: data.id }));
  };
  if (segment !== undefined && unmatched.length === 0) return null;
  return (
    <ActionForm action={action} send={(form) => save(form)}>
      <Unmatched lines={unmatched} />
      <label>
        <span class="soft small">Save the filters as a segment</span>
        <input
          type="text"
          name="name"
          autocomplete="off"
          maxLength={200}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          required
        />
      </label>
      <details>
        <summary class="small">By first price</summary>
        <p class="soft small">What customers began with, a month.</p>
        <Price name="price_from" label="From" currency={currency} />
        <Price name="price_below" label="Below" currency={currency} />
      </details>
      <details>
        <summary class="small">Of a list of customers</summary>
        <p class="soft small">
          One in each line: an id or an e-mail, up to 10,000. Of a CSV file the first column counts.
        </p>
        <textarea name="customers" rows={4} aria-label="Customers" />
        <input type="file" name="file" accept=".csv,.txt,text/*" aria-label="File of customers" />
      </details>
      <button type="submit" class="button" disabled={action.isBusy}>
        {same === undefined ? "Save as segment" : "Change the segment"}
      </button>
    </ActionForm>
  );
}

function Price(props: {
  readonly name: string;
  readonly label: string;
  readonly currency: string;
}) {
  return (
    <label class="small">
      {props.label}, {props.currency}
      <input type="number" name={props.name} min="0" step="any" autocomplete="off" />
    </label>
  );
}

type Saved = One<z.output<typeof writtenSegment>>;

async function fileText(form: HTMLFormElement): Promise<string> {
  const file = new FormData(form).get("file");
  return file instanceof File && file.size > 0 ? file.text() : "";
}

function Unmatched({ lines }: { readonly lines: readonly string[] }) {
  if (lines.length === 0) return null;
  return (
    <details open>
      <summary class="small">
        {lines.length === 1 ? "1 line belongs" : `${lines.length} lines belong`} to no customer
      </summary>
      <pre class="small menu-list">{lines.join("\n")}</pre>
    </details>
  );
}
