/** What `/metrics` shows (Prometheus), by `prom-client`, in a registry of this service's own. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";

/** Booking takes fractions of a second, or as long as what it waits for is away. */
const delayBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800];
const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export interface Metrics {
  /** Roles register further gauges of their own here, once, at start. */
  readonly registry: Registry;
  readonly requestSeconds: Histogram<"route" | "method" | "status">;
  /** Every webhook call by what became of it: `taken`, or the code of its refusal. */
  readonly webhooks: Counter<"provider" | "verdict">;
  readonly ingested: Counter<"verdict">;
  /** Questions to providers' APIs: answered, refused, trouble. */
  readonly questions: Counter<"provider" | "outcome">;
  /** By what became of them: `whole`, `cut_short` by us, `left` by the caller. */
  readonly exports: Counter<"table" | "outcome">;
  /** From the call of `append` until the records are durable. */
  readonly appendSeconds: Histogram;
  /** By event, from its receipt until the figures that rest on it are told. */
  readonly bookingDelaySeconds: Histogram<"figures">;
  /** A gauge of one label, whose values are asked for when somebody looks. */
  gauge(
    name: string,
    help: string,
    label: string,
    read: () => Promise<Readonly<Record<string, number>>>,
  ): void;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    requestSeconds: new Histogram({
      name: "http_request_duration_seconds",
      help: "Time to answer an HTTP request",
      labelNames: ["route", "method", "status"],
      buckets: secondsBuckets,
      registers,
    }),
    webhooks: new Counter({
      name: "webhooks_total",
      help: "Webhook calls by provider and what became of them",
      labelNames: ["provider", "verdict"],
      registers,
    }),
    ingested: new Counter({
      name: "ingest_events_total",
      help: "Events sent to the ingest endpoint by what became of them",
      labelNames: ["verdict"],
      registers,
    }),
    questions: new Counter({
      name: "provider_questions_total",
      help: "Questions to providers' APIs by provider and what came of them",
      labelNames: ["provider", "outcome"],
      registers,
    }),
    exports: new Counter({
      name: "exports_total",
      help: "Exports of lists by what became of them",
      labelNames: ["table", "outcome"],
      registers,
    }),
    appendSeconds: new Histogram({
      name: "log_append_duration_seconds",
      help: "Time until raw events are durable in the log",
      buckets: secondsBuckets,
      registers,
    }),
    bookingDelaySeconds: new Histogram({
      name: "booking_delay_seconds",
      help: "Time from the receipt of an event until what it changed is told",
      labelNames: ["figures"],
      buckets: delayBuckets,
      registers,
    }),
    gauge(name, help, label, read) {
      const gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers: [],
        async collect() {
          this.reset();
          // What cannot be asked now is left out; all else is of use most of all then.
          const values = await read().catch(() => ({}));
          for (const [value, number] of Object.entries(values))
            this.set({ [label]: value }, number);
        },
      });
      registry.registerMetric(gauge);
    },
  };
}
