/** Rules and firings as sentences. Pure. */
import type { AlertCondition, AlertRule, FigureRule } from "../../schemas/http/outbound/alerts.js";
import { utcDay } from "../../schemas/money/rates.js";
import { moneyIn } from "../digests/sentences.js";
import type { Firing } from "./conditions.js";
import { watchable } from "./figures.js";

export interface Naming {
  readonly currency: string;
  readonly names: ReadonlyMap<string, string>;
  /** Of segments, by id. */
  readonly segments: ReadonlyMap<string, string>;
}

export function titleOf(rule: AlertRule, naming: Naming): string {
  const from = sourceOf(rule, naming);
  if (rule.on === "figure") return figureTitle(rule, naming);
  if (rule.on === "silence") return `No event${from} for ${counted(rule.hours, "hour")}`;
  if (rule.on === "rejects") return `More than ${counted(rule.above, "event")} not booked`;
  const what = `${rule.above.toLocaleString("en")} payments, refunds or disputes`;
  return `More than ${what} differ from the provider's list${from}`;
}

export function sentenceOf(rule: AlertRule, firing: Firing, naming: Naming): string {
  const { value } = firing;
  const from = sourceOf(rule, naming);
  if (rule.on === "figure") return figureSentence(rule, firing, naming);
  if (rule.on === "silence") return `No event came${from} for ${counted(rule.hours, "hour")}.`;
  if (rule.on === "rejects") {
    return `${counted(value, "event")} could not be booked, more than ${rule.above}.`;
  }
  const { kinds = {} } = firing.point;
  const what = listOf(kinds, ["payment", "refund", "dispute"], (count, kind) =>
    counted(count, kind),
  );
  const costs = listOf(kinds, ["fee", "tax"], (count, kind) =>
    count === 1
      ? `the ${kind} of 1 payment`
      : `the ${kind === "fee" ? "fees" : "taxes"} of ${count} payments`,
  );
  const differ = value === 1 ? "differs" : "differ";
  const sentence =
    `${what === "" ? `${value} payments, refunds or disputes` : what} of the last three months ` +
    `${differ} from the provider's list${from}, more than ${rule.above}.`;
  return costs === "" ? sentence : `${sentence} Not counted: ${costs}.`;
}

/** Of those kinds of which there are any. */
function listOf(
  kinds: Readonly<Record<string, number>>,
  names: readonly string[],
  text: (count: number, kind: string) => string,
): string {
  const parts = names.flatMap((kind) => {
    const { [kind]: count = 0 } = kinds;
    return count === 0 ? [] : [text(count, kind)];
  });
  return new Intl.ListFormat("en", { type: "conjunction" }).format(parts);
}

function sourceOf(rule: AlertRule, { names }: Naming): string {
  if (!("integration" in rule) || rule.integration === undefined) return "";
  return ` from ${names.get(rule.integration) ?? rule.integration}`;
}

function figureTitle(rule: FigureRule, naming: Naming): string {
  const { figure, interval, condition, filters = {} } = rule;
  const { name, isBalance } = watchable[figure];
  const subject = isBalance ? name : `${name} of a ${interval}`;
  const within = Object.entries(filters).map(([key, value = ""]) => {
    const [id = ""] = value.split(".");
    const shown = key === "segment" ? (naming.segments.get(id) ?? "that was deleted") : value;
    return `${key.replace("_", " ")} ${shown}`;
  });
  const only = within.length === 0 ? "" : ` (${within.join(", ")})`;
  return `${subject}${only} ${titleOfCondition(rule, condition, textIn(figure, naming))}`;
}

function titleOfCondition(
  { interval }: FigureRule,
  condition: AlertCondition,
  text: (value: number) => string,
): string {
  if (condition.is === "unusual") return "outside of what is usual";
  if (condition.is !== "change") return `${condition.is} ${text(condition.value)}`;
  const { way, over } = condition;
  const how = way === "either" ? "changes by" : `goes ${way} by`;
  return `${how} ${changeText(condition, text)} within ${counted(over, interval)}`;
}

function figureSentence(rule: FigureRule, firing: Firing, naming: Naming): string {
  const { figure, interval, condition } = rule;
  const { point, value, judgement } = firing;
  const { name, isBalance } = watchable[figure];
  const text = textIn(figure, naming);
  const period = periodOf(interval, point.start);
  const now = isBalance
    ? point.isOver
      ? `${name} was ${text(value)} at the end of ${period}`
      : `${name} is ${text(value)}`
    : point.isOver
      ? `${name} of ${period}: ${text(value)}`
      : `${name} of ${period}: ${text(value)} so far`;
  return `${now}, ${why()}.`;

  function why(): string {
    if (condition.is === "unusual") {
      const { from = 0, to = 0, is = 0 } = judgement.usual ?? {};
      const band = `outside of the usual ${text(from)} to ${text(to)}`;
      return isBalance ? `a change of ${text(is)}, ${band}` : band;
    }
    if (condition.is !== "change") return `${condition.is} ${text(condition.value)}`;
    const { before = 0 } = judgement;
    const difference = value - before;
    const by = Math.abs(difference);
    const share = percentText((by / Math.abs(before)) * 100);
    const size = condition.unit === "amount" ? text(by) : share;
    const way = difference > 0 ? "up" : "down";
    return `${way} ${size} from ${text(before)} ${counted(condition.over, interval)} before`;
  }
}

function changeText(
  { by, unit }: Extract<AlertCondition, { readonly is: "change" }>,
  text: (value: number) => string,
): string {
  return unit === "percent" ? percentText(by) : text(by);
}

function textIn(figure: FigureRule["figure"], { currency }: Naming): (value: number) => string {
  const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
  return {
    money: moneyIn(currency),
    percent: percentText,
    count: (value: number) => number.format(value),
    ratio: (value: number) => number.format(value),
  }[watchable[figure].unit];
}

function percentText(value: number): string {
  return `${value.toLocaleString("en", { maximumFractionDigits: 2 })}%`;
}

function periodOf(interval: FigureRule["interval"], start: number): string {
  const day = utcDay(start);
  if (interval === "day") return day;
  return interval === "week" ? `the week from ${day}` : day.slice(0, "YYYY-MM".length);
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
