/**
 * The backends of a command that holds the exclusive lease. Every write first checks the lease, so
 * a command that was paused for a while writes nothing it computed before.
 */
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import type { Log } from "../../stores/log/log.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import type { ExclusiveLease } from "../../stores/postgres/exclusive-lease.js";

/** @throws OthersRun from every write once other processes may run */
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
