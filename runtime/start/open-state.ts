/** Opens the books when the log is Kafka: in DATABASE_URL, or in databases of their own. */
import { type Config, ConfigError } from "../../config.js";
import { openPostgres } from "../../stores/postgres/open.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { PostgresState } from "../../stores/state/postgres-state.js";
import { SpreadState } from "../../stores/state/spread-state.js";
import type { State } from "../../stores/state/state.js";
import type { Logger } from "../logger.js";
import { migratePostgres } from "../../stores/migrations.js";
import type { Readiness } from "../readiness.js";
import type { Releases } from "../releases.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import type { ExclusiveLease } from "../../stores/postgres/exclusive-lease.js";

interface Opening {
  readonly config: Pick<Config, "DATABASE_URL" | "STATE_DATABASE_URLS">;
  /** The one of DATABASE_URL, with its tables. */
  readonly postgres: Postgres;
  readonly readiness: Readiness;
  readonly releases: Releases;
  readonly logger: Logger;
  readonly stopping?: AbortSignal | undefined;
  /** No role here books or audits, so it starts and works without the databases. */
  readonly isUnused?: boolean | undefined;
}

/** @throws ConfigError when the books lie where these settings do not look for them */
export async function openStateOnServers(opening: Opening): Promise<State> {
  const { config, postgres, readiness, releases, logger, stopping } = opening;
  const { DATABASE_URL, STATE_DATABASE_URLS } = config;
  if (opening.isUnused) return new SpreadState([]);
  if (STATE_DATABASE_URLS === undefined) {
    await claimPlace(postgres, "DATABASE_URL", allBooks);
    return new PostgresState(postgres);
  }
  const urls = STATE_DATABASE_URLS.split(",");
  const places = urls.length;
  if (!urls.some((url) => url === DATABASE_URL)) {
    await claimPlace(postgres, "DATABASE_URL", { place: -1, places });
  }
  const databases: Postgres[] = [];
  for (const [place, url] of urls.entries()) {
    const database = await openPostgres({ url, stopping }, logger);
    releases.push("state database", () => database.close());
    readiness.add(`state database ${place + 1}`, () => database.query("SELECT 1"));
    await migratePostgres(database, logger);
    await claimPlace(database, `database ${place + 1} of STATE_DATABASE_URLS`, { place, places });
    databases.push(database);
  }
  return new SpreadState(databases.map((database) => new PostgresState(database)));
}

interface Place {
  /** -1: none of the books are here. */
  readonly place: number;
  readonly places: number;
}
const allBooks: Place = { place: 0, places: 1 };

/** Written at the first start, and checked ever after. */
async function claimPlace(database: Postgres, name: string, own: Place): Promise<void> {
  await database.query(
    "INSERT INTO book_place (place, places) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    [own.place, own.places],
  );
  const [found = own] = await database.query<Place>("SELECT place, places FROM book_place");
  if (found.place === own.place && found.places === own.places) return;
  throw new ConfigError([
    `STATE_DATABASE_URLS: ${name} has ${described(found)}, and by the settings ` +
      `${described(own)}; put the setting back as it was, or spread the books anew ` +
      "(docs/operating.md, Databases for the books)",
  ]);
}

function described({ place, places }: Place): string {
  if (place < 0) return "none of the books";
  return places === 1 ? "all books" : `part ${place + 1} of ${places} of the books`;
}

/**
 * The backends of a command that holds the exclusive lease. Every write first checks the lease, so
 * a command that was paused for a while writes nothing it computed before.
 * @throws OthersRun from every write once other processes may run
 */
export function fenceBackends(
  { clickhouse, log, postgres }: Backends,
  sole: ExclusiveLease,
): Backends {
  const first = async <Result>(write: () => Promise<Result>): Promise<Result> => {
    sole.check();
    return write();
  };
  return {
    clickhouse: {
      ...clickhouse,
      write: (...given) => first(() => clickhouse.write(...given)),
      append: (...given) => first(() => clickhouse.append(...given)),
    },
    log: {
      ...log,
      append: (...given) => first(() => log.append(...given)),
      seek: (...given) => first(() => log.seek(...given)),
      widen: (...given) => first(() => log.widen(...given)),
      begin: (...given) => first(() => log.begin(...given)),
      place: (...given) => first(() => log.place(...given)),
    },
    postgres: fencePostgres(postgres, sole),
  };
}

interface Backends {
  readonly clickhouse: ClickHouse;
  readonly log: Log;
  readonly postgres: Postgres;
}

/** Reads check, too, because they look the same as writes. */
function fencePostgres(postgres: Postgres, sole: ExclusiveLease): Postgres {
  const checked = (sql: Sql): Sql => ({
    query: async <T>(text: string, values?: readonly unknown[]) => {
      sole.check();
      return sql.query<T>(text, values);
    },
  });
  return {
    ...checked(postgres),
    transaction: (run, options) =>
      postgres.transaction(async (sql) => {
        const result = await run(checked(sql));
        // A rollback is always right; a commit is not.
        sole.check();
        return result;
      }, options),
    close: () => postgres.close(),
  };
}
