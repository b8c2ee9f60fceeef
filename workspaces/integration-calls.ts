/**
 * Counts the calls of each integration's webhook URL by outcome, in memory and then in Postgres, so
 * that every process can report them. A crash loses the counts of a minute; no figure depends on
 * them.
 */
import type { Logger } from "../runtime/logger.js";
import type { Postgres } from "../stores/postgres/postgres.js";

export const takenVerdict = "taken";

const integrationCallsWriteMs = 60_000;
/** Integrations times verdicts counted at a time; calls beyond them are not. */
const integrationCallsCountedMax = 10_000;

export type IntegrationCalls = ReturnType<typeof openIntegrationCalls>;

export interface CallsRow {
  readonly integration: string;
  readonly verdict: string;
  readonly calls: bigint;
  readonly last_at: Date;
}

interface Counted {
  readonly integration: string;
  readonly verdict: string;
  calls: number;
  /** ms since 1970 */
  lastAt: number;
  /** When it was last written; 0 before. */
  writtenAt: number;
}

export function openIntegrationCalls(options: {
  readonly postgres: Postgres;
  readonly logger: Logger;
  readonly writeEveryMs?: number;
}) {
  const { postgres, logger, writeEveryMs = integrationCallsWriteMs } = options;
  const counted = new Map<string, Counted>();
  let writing: Promise<void> = Promise.resolve();

  const writeDue = (isDue: (entry: Counted) => boolean): Promise<void> => {
    const entries = [...counted.values()].filter((entry) => entry.calls > 0 && isDue(entry));
    const rows = entries.map((entry) => ({ ...entry }));
    const now = Date.now();
    for (const entry of entries) Object.assign(entry, { calls: 0, writtenAt: now });
    if (rows.length > 0) {
      writing = writing
        .then(() => addCalls(postgres, rows))
        .catch((error: unknown) => {
          logger.warn({ err: error }, "counts of webhook calls could not be written");
        });
    }
    return writing;
  };
  const isPaced = ({ writtenAt }: Counted) => Date.now() - writtenAt >= writeEveryMs;
  const timer = setInterval(() => {
    void writeDue(isPaced);
    // Only active integrations stay in the map.
    for (const [key, entry] of counted) {
      if (entry.calls === 0 && isPaced(entry)) counted.delete(key);
    }
  }, writeEveryMs);
  timer.unref();

  return {
    /**
     * Never waits and never throws. The first call after a quiet minute is written at once.
     * @param verdict `taken`, or the code of the refusal
     */
    count(integration: string, verdict: string): void {
      const key = `${integration} ${verdict}`;
      let entry = counted.get(key);
      if (entry === undefined) {
        if (counted.size >= integrationCallsCountedMax) return;
        entry = { integration, verdict, calls: 0, lastAt: 0, writtenAt: 0 };
        counted.set(key, entry);
      }
      entry.calls += 1;
      entry.lastAt = Date.now();
      if (isPaced(entry)) void writeDue((one) => one === entry);
    },
    async close(): Promise<void> {
      clearInterval(timer);
      await writeDue(() => true);
    },
  };
}

export function callsOf(postgres: Postgres, integrations: readonly string[]): Promise<CallsRow[]> {
  return postgres.query<CallsRow>(
    `SELECT integration, verdict, calls, last_at FROM integration_calls
     WHERE integration = ANY($1) ORDER BY integration, verdict`,
    [integrations],
  );
}

async function addCalls(postgres: Postgres, rows: readonly Counted[]): Promise<void> {
  for (const { integration, verdict, calls, lastAt } of rows) {
    await postgres.query(
      `INSERT INTO integration_calls (integration, verdict, calls, last_at)
       VALUES ($1, $2, $3, $4)
       ON CONFLICT (integration, verdict) DO UPDATE SET
         calls = integration_calls.calls + excluded.calls,
         last_at = GREATEST(integration_calls.last_at, excluded.last_at)`,
      [integration, verdict, calls, new Date(lastAt)],
    );
  }
}
