/** How the consumers of this role keep their pace, and whether they make progress in time. */
import { limits } from "../config.js";
import { NotReady } from "../runtime/readiness.js";
import { setImmediate, setTimeout as pause } from "node:timers/promises";
import type { Watermark } from "../stores/watermark/watermark.js";
import type { LogRecord } from "../stores/log/log.js";
import type { Service } from "../service.js";

/** A failed batch comes again after `retryPauseMsMax` at most; doubled to be sure. */
const againMsMax = 2 * limits.retryPauseMsMax;

/**
 * For `/readyz`: a consumer whose last batch failed is not ready. If the batch does not come again,
 * another member handles its partition, and this one is well.
 */
export class ConsumerHealth {
  #failure: { readonly error: unknown; readonly at: number } | null = null;
  #running = 0;

  /** @param elapsed ms by a clock that is never set */
  constructor(private readonly elapsed: () => number = () => performance.now()) {}

  async watch<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#running += 1;
    try {
      const result = await work();
      this.#failure = null;
      return result;
    } catch (error) {
      this.#failure = { error, at: this.elapsed() };
      throw error;
    } finally {
      this.#running -= 1;
    }
  }

  /** @throws while the last batch has failed and is tried again */
  check(): void {
    if (this.#failure === null) return;
    const { error, at } = this.#failure;
    if (this.#running === 0 && this.elapsed() - at > againMsMax) return;
    throw new NotReady("the last batch failed", { cause: error });
  }
}

/** More concurrent calls than this count as a burst; 200 webhooks a second are two or three. */
const callsMax = 10;
/** A burst may delay booking this long. */
const waitMsMax = 2_000;
const lookEveryMs = 25;

/**
 * While many calls are in flight, a batch waits: an accepted event can be booked a moment later,
 * but a provider that gets no answer sends everything again.
 */
export async function yieldToCallers(watermark: Pick<Watermark, "callsInFlight">): Promise<void> {
  const until = Date.now() + waitMsMax;
  while (watermark.callsInFlight > callsMax && Date.now() < until) await pause(lookEveryMs);
}

/** Share of the time during a burst, so that booking never stops entirely. */
const crowdedShare = 1 / 4;
/** Bounds the pause after work that waited for something else. */
const sliceMsMax = 50;

/** Runs long work in slices of some 10 ms, which leave most of the time to calls during a burst. */
export class Slices {
  #began = performance.now();

  constructor(private readonly watermark: Pick<Watermark, "callsInFlight">) {}

  async letOthersRun(): Promise<void> {
    if (this.watermark.callsInFlight > callsMax) {
      const workedMs = Math.min(performance.now() - this.#began, sliceMsMax);
      await pause(workedMs / crowdedShare - workedMs);
    } else {
      await setImmediate();
    }
    this.#began = performance.now();
  }
}

/**
 * Lets batches overlap: the next starts while earlier ones wait for answers, so that a slow API
 * delays only its own events. The group's offset follows the slowest; after a crash they are
 * handled again (`Log.consume`, finished).
 */
export class ConcurrencyWindow {
  readonly #max: Size;
  #records = 0;
  #bytes = 0;
  #waiting: (() => void)[] = [];

  /** @param max beyond so many records or bytes the next batch waits for one to end */
  constructor(max: Size) {
    this.#max = max;
  }

  async begin(
    records: readonly LogRecord[],
    work: () => Promise<void>,
  ): Promise<{ readonly finished: Promise<void> }> {
    while (this.#records >= this.#max.records || this.#bytes >= this.#max.bytes) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return { finished: this.#run(records, work) };
  }

  async #run(records: readonly LogRecord[], work: () => Promise<void>): Promise<void> {
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
    this.#records += records.length;
    this.#bytes += bytes;
    try {
      await work();
    } finally {
      this.#records -= records.length;
      this.#bytes -= bytes;
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const wake of waiting) wake();
    }
  }
}

interface Size {
  readonly records: number;
  readonly bytes: number;
}

const retentionLookEveryMs = 10 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;

type Watching = Pick<Service, "config" | "log" | "logger" | "releases" | "watermark">;

/**
 * Kafka removes records when their time is over, booked or not. So booking that is far behind is
 * reported while there is time left. The embedded log keeps what is not handled.
 */
export function watchRetention(service: Watching): void {
  if (!service.log.shared) return;
  const look = (): void => {
    warnWhenBehind(service).catch((error: unknown) => {
      service.logger.debug({ err: error }, "the progress of booking could not be read");
    });
  };
  const timer = setInterval(look, retentionLookEveryMs).unref();
  service.releases.push("watch over retention", () => clearInterval(timer));
}

interface Warning extends Pick<Watching, "config" | "logger"> {
  readonly watermark: Pick<Watching["watermark"], "completeTo">;
}

export async function warnWhenBehind(
  { config, logger, watermark }: Warning,
  now = Date.now(),
): Promise<void> {
  const { RAW_RETENTION_DAYS: raw, FACTS_RETENTION_DAYS: facts } = config;
  const behindMs = now - (await watermark.completeTo());
  // Of the topics that booking reads.
  const retentionDays = Math.min(raw ?? facts, facts);
  if (behindMs < (retentionDays * dayMs) / 2) return;
  logger.error(
    { behindDays: Math.floor(behindMs / dayMs), retentionDays },
    "booking is so far behind that Kafka may remove records before they are booked: give the " +
      "topics a longer retention.ms until it has caught up, and see what holds it up",
  );
}
