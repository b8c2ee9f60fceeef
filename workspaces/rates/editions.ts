/**
 * The editions of rates: a table in memory, and later editions in Postgres. Editions are only ever
 * added, by any process, one at a time under a lock: a process that sees one sees all before it.
 * Edition 1 is the packed ECB history, from its file (a quarter of a million rows that never
 * change), and the wide list that was packaged when the installation first started, from Postgres
 * (the next release packages another).
 */
import { isFartherApart, parseDecimal } from "../../schemas/money/money.js";
import {
  type PublishedQuote,
  type QuoteTable,
  addEdition,
  emptyQuoteTable,
  isAbsent,
  lastPublished,
} from "../../schemas/money/rates.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { readPackagedWideList, readPackedHistory } from "./bundle.js";

/** Editions read at a time; one has some hundred rows. */
const editionsPageMax = 200;

export class Editions {
  readonly table: QuoteTable = emptyQuoteTable();
  readonly #postgres: Postgres;
  /** Reading and adding both change the table, so they run one after another. */
  #last: Promise<unknown> = Promise.resolve();

  /** Loads everything, and adds what this release brings. */
  static async open(postgres: Postgres): Promise<Editions> {
    const editions = new Editions(postgres);
    const packaged = await readPackagedWideList();
    const later = await editions.#loadFirst(packaged);
    await editions.know();
    await editions.append("carried by a release", [...later, ...packaged]);
    return editions;
  }

  private constructor(postgres: Postgres) {
    this.#postgres = postgres;
  }

  /** Loads what other processes added, unless the edition is known already. */
  async know(edition = Number.POSITIVE_INFINITY): Promise<void> {
    if (edition <= this.table.edition) return;
    await this.#inTurn(() => readLater(this.#postgres, this.table));
  }

  /**
   * Adds an edition with those quotes and absent days that are new; a corrected quote is new.
   * Earlier editions keep their answers.
   * @param absentDays of which there is no wide list
   * @returns whether there was anything new
   */
  append(
    note: string,
    quotes: readonly PublishedQuote[],
    absentDays: readonly string[] = [],
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      const added = await this.#postgres.transaction(async (sql) => {
        // 1. Nobody else adds until this commits.
        await sql.query("LOCK TABLE rate_editions IN EXCLUSIVE MODE");
        // 2. So what is new is compared with all there is.
        await readLater(sql, this.table);
        const unknown = quotes.filter((quote) => !isKnown(this.table, quote));
        const absent = absentDays.filter((day) => !isAbsent(this.table, day));
        if (unknown.length === 0 && absent.length === 0) return null;
        // 3. The next number, with its rows.
        const edition = this.table.edition + 1;
        await insertEdition(sql, { edition, note, absentDays: absent }, unknown);
        return { edition, unknown, absent };
      });
      // 4. In memory only once it is stored: an edition that was rolled back never was.
      if (added !== null) addEdition(this.table, added.edition, added.unknown, added.absent);
      return added !== null;
    });
  }

  /** @returns the packed rates that are not part of edition 1 */
  async #loadFirst(packaged: readonly PublishedQuote[]): Promise<readonly PublishedQuote[]> {
    const wide = await this.#postgres.transaction(async (sql) => {
      await sql.query("LOCK TABLE rate_editions IN EXCLUSIVE MODE");
      const [first] = await sql.query("SELECT 1 FROM rate_editions WHERE edition = 1");
      if (first === undefined) await insertEdition(sql, firstStart, packaged);
      return sql.query<Row>(`${selectRows} WHERE edition = 1`);
    });
    const { first: history, later } = await readPackedHistory();
    addEdition(this.table, 1, wide, [], history);
    return later;
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(run, run);
    this.#last = mine;
    return mine;
  }
}

interface EditionRow {
  readonly edition: number;
  readonly note: string;
  readonly absentDays: readonly string[];
}

const firstStart: EditionRow = { edition: 1, note: "carried by the first start", absentDays: [] };

interface Row extends PublishedQuote {
  readonly edition: number;
}

const selectRows = `SELECT edition, source, to_char(day, 'YYYY-MM-DD') AS day, currency,
  per_eur AS "perEur" FROM rate_quotes`;

/** Inside or outside a transaction; what it reads is committed, so it stays true. */
async function readLater(sql: Sql, table: QuoteTable): Promise<void> {
  for (;;) {
    const editions = await sql.query<Omit<EditionRow, "note">>(
      `SELECT edition, to_json(absent_days) AS "absentDays" FROM rate_editions
       WHERE edition > $1 ORDER BY edition LIMIT $2`,
      [table.edition, editionsPageMax],
    );
    const last = editions.at(-1)?.edition;
    if (last === undefined) return;
    const rows = await sql.query<Row>(
      `${selectRows} WHERE edition > $1 AND edition <= $2 ORDER BY edition, day`,
      [table.edition, last],
    );
    for (const { edition, absentDays } of editions) {
      const quotes = rows.filter((row) => row.edition === edition);
      addEdition(table, edition, quotes, absentDays);
    }
  }
}

async function insertEdition(
  sql: Sql,
  { edition, note, absentDays }: EditionRow,
  quotes: readonly PublishedQuote[],
): Promise<void> {
  await sql.query(
    `INSERT INTO rate_editions (edition, note, absent_days)
     SELECT $1, $2, ARRAY(SELECT day::date FROM jsonb_array_elements_text($3::jsonb) AS day)`,
    [edition, note, JSON.stringify(absentDays)],
  );
  await sql.query(
    `INSERT INTO rate_quotes (edition, source, day, currency, per_eur)
     SELECT $1::integer, source, day, currency, per_eur
     FROM jsonb_to_recordset($2::jsonb)
       AS quote (source text, day date, currency text, per_eur text)`,
    [
      edition,
      JSON.stringify(quotes.map(({ perEur, ...quote }) => ({ ...quote, per_eur: perEur }))),
    ],
  );
}

function isKnown(table: QuoteTable, quote: PublishedQuote): boolean {
  const last = lastPublished(table, quote);
  if (last === null || last.day !== quote.day) return false;
  const [known, reported] = [parseDecimal(last.perEur), parseDecimal(quote.perEur)];
  return known !== null && reported !== null && !isFartherApart(known, reported, 1n);
}
