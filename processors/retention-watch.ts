/**
 * Kafka removes records when their time is over, booked or not. So booking that is far behind is
 * reported while there is time left.
 */
import type { Service } from "../service.js";

const lookEveryMs = 10 * 60 * 1000;
const dayMs = 24 * 60 * 60 * 1000;

type Watching = Pick<Service, "config" | "log" | "logger" | "releases" | "watermark">;

/** The embedded log keeps what is not handled. */
export function watchRetention(service: Watching): void {
  if (!service.log.shared) return;
  const look = (): void => {
    warnWhenBehind(service).catch((error: unknown) => {
      service.logger.debug({ err: error }, "the progress of booking could not be read");
    });
  };
  const timer = setInterval(look, lookEveryMs).unref();
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
