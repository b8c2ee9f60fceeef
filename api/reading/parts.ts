/**
 * Sums of an additive table up to `at`, as parts that together have each row once: whole months or
 * days come from aggregate projections, the rest from rows, because a condition on the time itself
 * would bypass the projection (docs/architecture.md). What is left to rows is the nearer part of
 * the month: its beginning is added, or its end taken off.
 */
import type { AsOf } from "./as-of.js";
import { isLateInMonth } from "./calendar.js";
import { atSql, fromSql, projectionSettingSql, tenantSql } from "./query.js";

export interface Part {
  /** Ends in a condition. */
  readonly source: string;
  /** Summed here, rows to be added, or rows to be taken off. */
  readonly values: "sum" | "+" | "-";
  /** The one that answers it, where one does. */
  readonly projection?: string;
  /** SQL of a day that the projection knows of what it sums. */
  readonly day?: string;
}

/** @param column of the time when a row happened */
export function additiveTable(table: "mrr_movements" | "ledger", column: "at" | "happened_at") {
  const rows = `${table} WHERE ${tenantSql}`;
  const dayOfRow = `toDate(${column})`;
  const monthOfRow = `toStartOfMonth(${column})`;
  /**
   * `identity` keeps the engine from holding the condition against each mark of the table itself,
   * which a projection replaces: most of the planning. Of the projection it uses the condition.
   */
  const time = `identity(${column})`;
  const day = `identity(${dayOfRow})`;
  const month = `identity(${monthOfRow})`;
  const upToAt = `${time} <= ${atSql}`;
  const restOfDay: Part = {
    source: `${rows} AND ${time} >= toStartOfDay(${atSql}) AND ${upToAt}`,
    values: "+",
  };

  return {
    rows,
    time,
    upToAt,
    dayOfRow,

    /** @param since SQL of a month: none before it */
    monthParts(projection: string, asOf: AsOf, since?: string): Part[] {
      const last = `toStartOfMonth(${atSql})`;
      const months = since === undefined ? rows : `${rows} AND ${month} >= ${since}`;
      const wholes = { values: "sum", projection, day: monthOfRow } as const;
      return isLateInMonth(asOf.at)
        ? [
            { source: `${months} AND ${month} <= ${last}`, ...wholes },
            {
              source: `${rows} AND ${time} > ${atSql} AND ${time} < ${last} + INTERVAL 1 MONTH`,
              values: "-",
            },
          ]
        : [
            { source: `${months} AND ${month} < ${last}`, ...wholes },
            { source: `${rows} AND ${time} >= ${last} AND ${upToAt}`, values: "+" },
          ];
    },

    monthsBefore(projection: string, before: string): Part {
      return {
        source: `${rows} AND ${month} < ${before}`,
        values: "sum",
        projection,
        day: monthOfRow,
      };
    },

    /** @param since SQL of a day */
    dayParts(since: string): Part[] {
      const days = `${rows} AND ${day} >= ${since} AND ${day} < toDate(${atSql})`;
      return [{ source: days, values: "sum", projection: "by_day" }, restOfDay];
    },

    /**
     * @param columnsOf the columns to sum by, over the SQL of a day that lies where the row does
     * @param wide SQL of a measure as the projections have it
     */
    partsSql<Measure extends string>(
      parts: readonly Part[],
      columnsOf: (day: string) => readonly string[],
      measures: readonly Measure[],
      condition = "true",
      wide: (measure: Measure) => string = (measure) => measure,
    ): string {
      const texts = parts.map(({ source, values, projection, day: dayOfPart = dayOfRow }) => {
        const columns = columnsOf(dayOfPart);
        const sums = measures.map((measure) => {
          if (values === "sum") return `sum(${wide(measure)}) AS ${measure}`;
          return values === "-" ? `-${measure} AS ${measure}` : measure;
        });
        const selected = `SELECT ${[...columns, ...sums].join(", ")}`;
        const sql = `${selected} FROM ${source} AND ${condition}`;
        const whole = values === "sum" ? `${sql} GROUP BY ${namesOf(columns)}` : sql;
        return projection === undefined ? whole : `${whole} ${projectionSettingSql(projection)}`;
      });
      return texts.join("\nUNION ALL\n");
    },
  };
}

/** @param columns some of them expressions with a name */
export function namesOf(columns: readonly string[]): string {
  return columns.map((column) => column.split(" AS ").at(-1)).join(", ");
}

/** 00:00 of the first day of a series or a period, as a date. */
export const fromDaySql = `toDate(${fromSql})`;
