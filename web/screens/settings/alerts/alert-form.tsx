/** The form of an alert: what it says at once is what it would have done in the last quarter. */
import { useEffect, useState } from "preact/hooks";
import type {
  AlertChannel,
  AlertFigure,
  AlertRule,
  AlertTest,
  AlertView,
  QuietHours,
} from "../../../../schemas/http/outbound/alerts.js";
import { CallError, call } from "../../../api/client.js";
import type { ListedIntegration, Member, One } from "../../../api/manage-answers.js";
import { moment } from "../../../format/dates.js";
import { providerName } from "../../../format/names.js";
import { ActionForm } from "../../../parts/action-form.js";
import { fieldOf } from "../../../parts/field.js";
import { Options } from "../../../parts/options.js";
import { Failure } from "../../../parts/states.js";
import { useAction } from "../../../parts/use-action.js";
import { session } from "../../../state/session.js";
import { useView } from "../../../state/view.js";
import { useList, useManagePath } from "../manage.js";
import {
  type Fields,
  conditionNames,
  fieldsOf,
  figureNames,
  firstFields,
  intervalNames,
  isFigure,
  ruleOf,
  wayNames,
} from "./rule-of.js";

const others = {
  silence: "No event comes",
  rejects: "Events that could not be booked",
  differences: "Payments, refunds and disputes that differ from the provider's list",
} as const;

export function AlertForm(props: {
  readonly chatHost: string | null;
  /** One that is there; null: a new one. */
  readonly of: AlertView | null;
  readonly onDone: () => void;
}) {
  const { of } = props;
  const view = useView();
  const path = useManagePath();
  const action = useAction();
  const asked = view.get("figure");
  const on = figureNamed(asked) ?? firstFields.on;
  const [fields, setFields] = useState<Fields>(
    of === null ? { ...firstFields, on } : fieldsOf(of.rule),
  );
  const [isPart, setPart] = useState(true);
  const set = (change: Partial<Fields>): void => setFields({ ...fields, ...change });
  const filters = of?.rule.on === "figure" ? (of.rule.filters ?? {}) : view.mrrFilters;
  const filterText = Object.entries(filters).map(([name, value]) =>
    name === "segment" ? "the segment" : `${name} ${value}`,
  );
  const rule = ruleOf(fields, isPart ? filters : {});
  const [ruleBefore] = useState(JSON.stringify(rule));
  return (
    <ActionForm
      action={action}
      class="stack"
      send={async (form) => {
        const body = { channels: channelsOf(form), quiet: quietOf(form) };
        // The same rule is not watched anew, so that what fired does not fire again.
        const isOther = JSON.stringify(rule) !== ruleBefore;
        if (of === null) await call("POST", `${path}/alerts`, { body: { rule, ...body } });
        else {
          const change = isOther ? { rule, ...body } : body;
          await call("PATCH", `${path}/alerts/${of.id}`, { body: change });
        }
        props.onDone();
      }}
    >
      <div class="row-form bottom">
        <Choice
          label="Alert when"
          value={fields.on}
          names={{ ...figureNames, ...others }}
          onChange={(chosen) => set({ on: chosen })}
        />
        {isFigure(fields.on) ? (
          <FigureFields fields={fields} set={set} />
        ) : (
          <OtherFields fields={fields} set={set} />
        )}
      </div>
      {isFigure(fields.on) && filterText.length > 0 ? (
        <label class="check">
          <input
            type="checkbox"
            checked={isPart}
            onChange={(event) => setPart(event.currentTarget.checked)}
          />{" "}
          Only {filterText.join(", ")}
        </label>
      ) : null}
      <Tested rule={rule} path={`${path}/alerts/test`} />
      <Receivers chatHost={props.chatHost} path={`${path}/members`} of={of?.channels ?? null} />
      <Quiet of={of?.quiet ?? null} />
      <p>
        <button type="submit" class="button primary" disabled={rule === null || action.isBusy}>
          Save the alert
        </button>{" "}
        <button type="button" class="button" onClick={props.onDone}>
          Cancel
        </button>
      </p>
    </ActionForm>
  );
}

interface FieldsProps {
  readonly fields: Fields;
  readonly set: (change: Partial<Fields>) => void;
}

function FigureFields({ fields, set }: FieldsProps) {
  const { is, interval } = fields;
  return (
    <>
      <Choice
        label="By"
        value={interval}
        names={intervalNames}
        onChange={(chosen) => set({ interval: chosen })}
      />
      <Choice
        label="Condition"
        value={is}
        names={conditionNames}
        onChange={(chosen) => set({ is: chosen })}
      />
      {is === "unusual" ? (
        <Amount
          label="Deviations from the median"
          value={fields.deviations}
          min="1"
          onInput={(deviations) => set({ deviations })}
        />
      ) : (
        <Amount label="Value" value={fields.value} onInput={(value) => set({ value })} />
      )}
      {is === "change" ? (
        <>
          <Choice
            label="Unit"
            value={fields.unit}
            names={{ percent: "%", amount: "amount" }}
            onChange={(unit) => set({ unit })}
          />
          <Choice
            label="Way"
            value={fields.way}
            names={wayNames}
            onChange={(way) => set({ way })}
          />
          <Amount
            label={`Within so many ${interval}s`}
            value={fields.over}
            min="1"
            onInput={(over) => set({ over })}
          />
        </>
      ) : null}
    </>
  );
}

function OtherFields({ fields, set }: FieldsProps) {
  const list = useList<ListedIntegration>(`${useManagePath()}/integrations`);
  const { on } = fields;
  const live = list.rows.filter(({ environment }) => environment === "Production");
  const names = Object.fromEntries(
    live.map(({ id, name, provider }) => [id, name ?? providerName(provider)]),
  );
  return (
    <>
      {on === "silence" ? (
        <Amount
          label="For so many hours"
          value={fields.hours}
          min="1"
          onInput={(hours) => set({ hours })}
        />
      ) : (
        <Amount
          label="More than"
          value={fields.count}
          min="0"
          onInput={(count) => set({ count })}
        />
      )}
      {on === "rejects" ? null : (
        <Choice
          label="Of"
          value={fields.integration}
          names={{ "": "all integrations", ...names }}
          onChange={(integration) => set({ integration })}
        />
      )}
    </>
  );
}

const waitMs = 400;

/** Tested whenever the rule is another, once nothing was typed for a moment. */
function Tested({ rule, path }: { readonly rule: AlertRule | null; readonly path: string }) {
  const [tested, setTested] = useState<{ key: string; answer: AlertTest } | null>(null);
  const [error, setError] = useState<CallError | null>(null);
  const key = JSON.stringify(rule);
  useEffect(() => {
    if (rule === null) return undefined;
    const aborter = new AbortController();
    const { signal } = aborter;
    const test = async (): Promise<void> => {
      try {
        const { data } = await call<One<AlertTest>>("POST", path, { body: { rule }, signal });
        setError(null);
        setTested({ key, answer: data });
      } catch (thrown) {
        if (!signal.aborted) setError(CallError.of(thrown));
      }
    };
    const timer = setTimeout(() => void test(), waitMs);
    return () => {
      clearTimeout(timer);
      aborter.abort();
    };
  }, [key]);
  if (rule === null) return <p class="soft">Enter a value to see when it would have fired.</p>;
  if (error !== null) return <Failure error={error} />;
  if (tested?.key !== key) return <p class="soft">Testing it on the last 90 days…</p>;
  const { title, fired, firings, is_true_now: isTrue } = tested.answer;
  const times = fired === 1 ? "once" : `${fired} times`;
  const said = fired === 0 ? "would never have fired" : `would have fired ${times}`;
  return (
    <div role="status">
      <p>
        <strong>{title}</strong>: {said} in the last 90 days.
        {isTrue ? " It is true now, so it fires at once." : ""}
      </p>
      {firings.length === 0 ? null : (
        <ul class="small">
          {firings
            .toReversed()
            .slice(0, shownMax)
            .map(({ at, sentence }) => (
              <li key={at}>
                <span class="soft">{moment(at)}</span> {sentence}
              </li>
            ))}
        </ul>
      )}
    </div>
  );
}

const shownMax = 5;

function Receivers(props: {
  readonly chatHost: string | null;
  readonly path: string;
  /** Null: nobody was chosen yet. */
  readonly of: readonly AlertChannel[] | null;
}) {
  const list = useList<Member>(props.path);
  const now = session.value;
  const ownId = now.is === "in" ? now.session.user.id : "";
  const { of } = props;
  const isChosen = (member: string): boolean =>
    of === null
      ? member === ownId
      : of.some((channel) => channel.by === "email" && channel.member === member);
  const hasChat = of?.some(({ by }) => by === "chat") ?? true;
  const reachable = list.rows.filter(({ email }) => email !== null);
  return (
    <fieldset>
      <legend>Send it to</legend>
      {props.chatHost === null ? null : (
        <label class="check">
          <input type="checkbox" name="chat" defaultChecked={hasChat} /> the chat channel (
          {props.chatHost})
        </label>
      )}
      {reachable.map(({ id, name, email }) => (
        <label class="check" key={id}>
          <input type="checkbox" name="member" value={id} defaultChecked={isChosen(id)} />
          {name}
          <span class="soft">{email}</span>
        </label>
      ))}
      {props.chatHost === null && reachable.length === 0 ? (
        <p class="soft">Connect a chat channel below, or sign in with a verified e-mail address.</p>
      ) : null}
    </fieldset>
  );
}

function Quiet({ of }: { readonly of: QuietHours }) {
  const [isQuiet, setQuiet] = useState(of !== null);
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={isQuiet}
          onChange={(event) => setQuiet(event.currentTarget.checked)}
        />{" "}
        Quiet hours
      </label>
      {isQuiet ? (
        <div class="row-form bottom">
          <label>
            From
            <input type="time" name="quiet-from" defaultValue={of?.from ?? "22:00"} required />
          </label>
          <label>
            To
            <input type="time" name="quiet-to" defaultValue={of?.to ?? "07:00"} required />
          </label>
          <label>
            Time zone
            <input
              type="text"
              name="quiet-zone"
              defaultValue={of?.time_zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone}
              required
            />
          </label>
        </div>
      ) : null}
    </>
  );
}

function channelsOf(form: HTMLFormElement): AlertChannel[] {
  const data = new FormData(form);
  const members = data.getAll("member").flatMap((id) => (typeof id === "string" ? [id] : []));
  return [
    ...(data.has("chat") ? [{ by: "chat" } as const] : []),
    ...members.map((member) => ({ by: "email", member }) as const),
  ];
}

function quietOf(form: HTMLFormElement): QuietHours {
  const from = fieldOf(form, "quiet-from");
  if (from === "") return null;
  return { from, to: fieldOf(form, "quiet-to"), time_zone: fieldOf(form, "quiet-zone") };
}

function figureNamed(name: string | null): AlertFigure | undefined {
  return keysOf(figureNames).find((figure) => figure === name);
}

function Choice<Key extends string>(props: {
  readonly label: string;
  readonly value: Key;
  readonly names: Readonly<Record<Key, string>>;
  readonly onChange: (key: Key) => void;
}) {
  return (
    <label>
      {props.label}
      <select
        value={props.value}
        onChange={(event) => {
          const chosen = keysOf(props.names).find((key) => key === event.currentTarget.value);
          if (chosen !== undefined) props.onChange(chosen);
        }}
      >
        <Options of={Object.entries(props.names)} />
      </select>
    </label>
  );
}

function Amount(props: {
  readonly label: string;
  readonly value: string;
  readonly min?: string;
  readonly onInput: (value: string) => void;
}) {
  return (
    <label>
      {props.label}
      <input
        type="number"
        step="any"
        min={props.min}
        size={10}
        value={props.value}
        required
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </label>
  );
}

/** `Object.keys`, which forgets which keys there are. */
function keysOf<Key extends string>(names: Readonly<Record<Key, unknown>>): Key[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- these objects have no others
  return Object.keys(names) as Key[];
}
