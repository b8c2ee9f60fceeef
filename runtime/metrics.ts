/** What `/metrics` shows (Prometheus), by `prom-client`, in a registry of this service's own. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import { limits } from "../config.js";

/** Booking takes fractions of a second, or as long as a store it waits for is unavailable. */
const delayBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800];
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** The runtime's own metrics (`process_…`, `nodejs_…`) keep their usual names. */
const prefix = "revenue_";
/** The label value of further series once a metric has its maximum. */
const other = "other";

type Labels<Name extends string> = Readonly<Record<Name, string>>;

/** Adds to one series; beyond `metricSeriesMax` to the one labelled `other`. */
interface Count<Name extends string> {
  inc(labels: Labels<Name>): void;
}
interface Durations<Name extends string> {
  observe(labels: Labels<Name>, seconds: number): void;
}

export interface Metrics {
  readonly registry: Registry;
  readonly requestSeconds: Durations<"route" | "method" | "status">;
  /** Every webhook call by outcome: `taken`, or the code of its refusal. */
  readonly webhooks: Count<"provider" | "verdict">;
  readonly ingested: Count<"verdict">;
  /** Calls of members' endpoints: taken, failed. */
  readonly webhookCalls: Count<"outcome">;
  /** Questions to providers' APIs: answered, refused, trouble. */
  readonly questions: Count<"provider" | "outcome">;
  /** By outcome: `whole`, `cut_short` by us, `left` by the caller. */
  readonly exports: Count<"table" | "outcome">;
  /** Messages about firings: `sent`, or one try `failed`. */
  readonly alertMessages: Count<"channel" | "outcome">;
  /** From the call of `append` until the records are durable. */
  readonly appendSeconds: Histogram;
  /** Events on which a consumer failed: listed as rejects, the others went on. */
  readonly internalErrors: Count<"group">;
  /** By event, from its receipt until its figures are published. */
  readonly bookingDelaySeconds: Durations<"figures">;
  /** A gauge of one label, whose values are read on demand. */
  gauge(
    name: string,
    help: string,
    label: string,
    read: () => Promise<Readonly<Record<string, number>>>,
  ): void;
  gaugeBy<Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
    read: () => Promise<readonly Series<Name>[]>,
  ): void;
}

interface Series<Name extends string> {
  readonly labels: Labels<Name>;
  readonly value: number;
}

export function createMetrics(seriesMax: number = limits.metricSeriesMax): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];

  function count<Name extends string>(name: string, help: string, labelNames: Name[]): Count<Name> {
    const counter = new Counter<string>({ name: prefix + name, help, labelNames, registers });
    const within = bounded(seriesMax);
    return { inc: (labels) => counter.inc(within(labels)) };
  }

  function durations<Name extends string>(
    name: string,
    help: string,
    labelNames: Name[],
    buckets: number[],
  ): Durations<Name> {
    const histogram = new Histogram<string>({
      name: prefix + name,
      help,
      labelNames,
      buckets,
      registers,
    });
    const within = bounded(seriesMax);
    return { observe: (labels, seconds) => histogram.observe(within(labels), seconds) };
  }

  const gaugeBy: Metrics["gaugeBy"] = (name, help, labelNames, read) => {
    const gauge = new Gauge<string>({
      name: prefix + name,
      help,
      labelNames: [...labelNames],
      registers: [],
      async collect() {
        this.reset();
        // What cannot be read now is left out; the rest is most useful then.
        const series = await read().catch(() => []);
        for (const { labels, value } of series.slice(0, seriesMax)) this.set(labels, value);
      },
    });
    registry.registerMetric(gauge);
  };

  return {
    registry,
    requestSeconds: durations(
      "http_request_duration_seconds",
      "Time to answer an HTTP request",
      ["route", "method", "status"],
      secondsBuckets,
    ),
    webhooks: count("webhooks_total", "Webhook calls by provider and what became of them", [
      "provider",
      "verdict",
    ]),
    ingested: count(
      "ingest_events_total",
      "Events sent to the ingest endpoint by what became of them",
      ["verdict"],
    ),
    webhookCalls: count("outgoing_webhooks_total", "Calls of webhook endpoints by outcome", [
      "outcome",
    ]),
    questions: count(
      "provider_questions_total",
      "Calls to providers' APIs by provider and outcome",
      ["provider", "outcome"],
    ),
    exports: count("exports_total", "Exports of lists by what became of them", [
      "table",
      "outcome",
    ]),
    alertMessages: count("alert_messages_total", "Messages about alerts by channel and outcome", [
      "channel",
      "outcome",
    ]),
    appendSeconds: new Histogram({
      name: `${prefix}log_append_duration_seconds`,
      help: "Time until raw events are durable in the log",
      buckets: secondsBuckets,
      registers,
    }),
    internalErrors: count(
      "internal_errors_total",
      "Events a consumer failed on by themselves, by its group",
      ["group"],
    ),
    bookingDelaySeconds: durations(
      "booking_delay_seconds",
      "Time from the receipt of an event until what it changed is published",
      ["figures"],
      delayBuckets,
    ),
    gaugeBy,
    gauge: (name, help, label, read) =>
      gaugeBy(name, help, [label], async () => {
        const values = Object.entries(await read());
        return values.map(([of, value]) => ({ labels: { [label]: of }, value }));
      }),
  };
}

/** No caller can make a process remember, or a scrape carry, more series than these. */
function bounded(seriesMax: number) {
  const known = new Set<string>();
  return (labels: Labels<string>): Labels<string> => {
    const series = Object.values(labels).join("\0");
    if (known.has(series)) return labels;
    if (known.size < seriesMax) {
      known.add(series);
      return labels;
    }
    return Object.fromEntries(Object.keys(labels).map((name) => [name, other]));
  };
}
