/** Exports over HTTP of the real service: the same rows as JSON, whole or visibly not. */
import { writeFileSync } from "node:fs";
import { type IncomingMessage, get as httpGet } from "node:http";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import Router from "@koa/router";
import { expect } from "chai";
import { z } from "zod";
import { columnsOf } from "../../api/exports/columns.js";
import { csvEncoder } from "../../api/exports/csv.js";
import { formatOf, formats } from "../../api/exports/formats.js";
import { createExports } from "../../api/exports/send.js";
import { createApp } from "../../http/app.js";
import { createHttpServer } from "../../http/server.js";
import { createMetrics } from "../../runtime/metrics.js";
import { openSkus } from "../../workspaces/catalogue/skus.js";
import { limits } from "../../config.js";
import { parseDecimal, trimmedText } from "../../schemas/money/money.js";
import { productId } from "../../schemas/ids.js";
import {
  type Endpoints,
  expectError,
  jsonLines,
  suiteEndpoints,
  openEndpoints,
} from "../harness/endpoints.js";
import { listen } from "../harness/loopback.js";
import { must } from "../model/readers/json.js";
import {
  type Tenant,
  type TestVersion,
  insertChanges,
  insertLedger,
  insertMovements,
  insertTransactions,
} from "../harness/query-rows.js";
import { testFolder } from "../harness/stores.js";

const csv = "text/csv";
const ndjson = "application/x-ndjson";
const parquet = "application/vnd.apache.parquet";

const first = Date.UTC(2026, 0, 1);
const hourMs = 3_600_000;

describe("Exports", () => {
  const endpoints = suiteEndpoints();
  let tenant: Tenant;
  let key: string;
  before(() => ({ tenant, readKey: key } = endpoints));

  const get = (path: string, accept = "application/json", method = "GET") =>
    endpoints.call(path, { method, headers: { authorization: `Bearer ${key}`, accept } });
  /** As an engine reads it that knows nothing of ours. */
  async function readParquet(path: string): Promise<Row[]> {
    const headers = { authorization: `Bearer ${key}`, accept: parquet };
    const answer = await fetch(endpoints.base + path, { headers });
    const file = join(testFolder, "export.parquet");
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    return endpoints.service.clickhouse.rows<Row>(`SELECT * FROM file('${file}', Parquet)`);
  }
  /** The rows of all pages. */
  async function walk(path: string): Promise<Row[]> {
    const rows: Row[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { json } = await get(`${path}${path.includes("?") ? "&" : "?"}limit=200${more}`);
      rows.push(...json.data);
      cursor = json.pagination.next_cursor;
    } while (cursor !== null);
    return rows;
  }

  /** In every format. @returns the headers of the CSV */
  async function expectExported(path: string, expected: readonly Row[]): Promise<Headers> {
    const [lines, table] = [await get(path, ndjson), await get(path, csv)];
    for (const { headers } of [lines, table]) {
      expect(headers.get("x-total-count")).to.equal(String(expected.length));
    }
    expect(jsonLines(lines.text)).to.deep.equal(expected);
    expect(textsOf(readCsv(table.text))).to.deep.equal(textsOf(expected));
    expect(textsOf(await readParquet(path))).to.deep.equal(textsOf(expected));
    return table.headers;
  }

  describe("of transactions", () => {
    // More than are read at once.
    const count = limits.exportPageRows + 200;
    before(async () => {
      await insertTransactions(endpoints.service.clickhouse, tenant, scattered(count));
      const then = { happened_at: first + 8 * hourMs, recorded_at: first + 8 * hourMs };
      await insertLedger(endpoints.service.clickhouse, tenant, [
        { ...then, payment: "stripe:pay_tx_00007", kind: "refund", amount: -1999, sales: 0 },
      ]);
    });

    it("should be the rows of all pages, in every format", async () => {
      const known = `known_at=${new Date(first + 5_000 * hourMs).toISOString()}`;
      const path = `/v1/transactions?${known}`;
      const expected = await walk(path);
      expect(expected).to.have.length(count);
      const headers = await expectExported(path, expected);
      expect(headers.get("content-type")).to.equal("text/csv; charset=utf-8; header=present");
      expect(headers.get("content-disposition")).to.contain("transactions.csv");
    });

    const expectAsPages = async (filter: string) => {
      const expected = await walk(`/v1/transactions?${filter}`);
      expect(expected).not.to.deep.equal([]);
      const { headers, text } = await get(`/v1/transactions?${filter}`, ndjson);
      expect(headers.get("x-total-count")).to.equal(String(expected.length));
      expect(jsonLines(text)).to.deep.equal(expected);
    };
    for (const filter of [
      "provider=apple",
      "status=disputed&type=one_time",
      "currency=JPY",
      "country=DE&status=refunded",
      "from=2026-01-02&to=2026-02-01",
      "status=refunded&at=2026-01-05T00:00:00Z",
      "at=2026-01-05T00:00:00Z&country=US",
    ]) {
      it(`should count what ${filter} shows`, () => expectAsPages(filter));
    }

    it("should count what is of a product", async () => {
      const sku = { provider: "stripe", externalId: "prod_a" };
      await openSkus(endpoints.service.postgres).see([{ ...tenant, ...sku }]);
      const id = productId(tenant.workspace, "live", sku.provider, sku.externalId);
      // The service looks at the catalogue again after a moment.
      await pause(250);
      await expectAsPages(`product=${id}&type=one_time`);
    });

    it("should say as of when it is, so that it can be had again", async () => {
      const { headers, text } = await get("/v1/transactions?provider=apple", csv);
      const at = headers.get("x-at");
      const known = headers.get("x-known-at");
      const again = await get(`/v1/transactions?provider=apple&at=${at}&known_at=${known}`, csv);
      expect(again.text).to.equal(text);
    });

    it("should be a whole file when nothing is in it", async () => {
      const path = "/v1/transactions?from=2001-01-01&to=2001-01-02";
      expect(readCsv((await get(path, csv)).text)).to.deep.equal([]);
      expect((await get(path, ndjson)).text).to.equal("");
      expect(await readParquet(path)).to.deep.equal([]);
    });

    it("should report the head alone", async () => {
      const { status, headers, text } = await get("/v1/transactions", csv, "HEAD");
      expect([status, headers.get("x-total-count"), text]).to.deep.equal([200, String(count), ""]);
    });

    for (const page of ["limit=10", "cursor=x"]) {
      it(`should refuse a page: ${page}`, async () => {
        const param = page.slice(0, page.indexOf("="));
        const answer = await get(`/v1/transactions?${page}`, csv);
        expectError(answer, `400 export_is_whole ${param}`);
      });
    }

    it("should be the versions of one of them", async () => {
      const path = "/v1/transactions/tx_00098";
      const { json } = await get(path);
      expect(json.data.versions).to.have.length(3);
      const versions = json.data.versions.map(({ events: _events, ...version }: Row) => version);
      expect(textsOf(readCsv((await get(path, csv)).text))).to.deep.equal(textsOf(versions));
    });
  });

  describe("of figures", () => {
    const at = "2026-05-01T00:00:00Z";
    const march = `at=${at}&known_at=${at}`;
    const until = `at=${at}&to_known_at=${at}`;
    before(async () => {
      ({ tenant, readKey: key } = await openEndpoints());
      const { clickhouse } = endpoints.service;
      const moved = { recorded_at: first + 2 * hourMs, vintage: "2026-01-01" };
      const a = { ...moved, account: "a" };
      const b = { ...moved, account: "b", provider: "apple", external_id: "=1+1" };
      await insertMovements(clickhouse, tenant, [
        { ...a, at: first, kind: "new", mrr: "10.004", accounts: 1 },
        { ...a, at: first + 900 * hourMs, kind: "expansion", mrr: "5.003" },
        { ...b, at: first, kind: "new", mrr: "20.004", accounts: 1 },
        { ...b, at: first + 1_500 * hourMs, kind: "churn", mrr: "-20.004", accounts: -1 },
      ]);
      const sold = { payment: "p", happened_at: first, recorded_at: first, sales: 1 };
      await insertLedger(clickhouse, tenant, [
        { ...sold, kind: "sale", amount: 1999, external_id: "-2+3" },
        { ...sold, kind: "refund", amount: -999, external_id: "-2+3", sales: 0 },
        { ...sold, payment: "q", kind: "sale", amount: 5, country: "DE" },
      ]);
      const change = { account: "c", at: first, recorded_at: first + 5 * hourMs };
      await insertChanges(clickhouse, tenant, [
        { ...change, change_id: "c1", phase: "started", mrr: "7.25" },
        { ...change, change_id: "c2", at: first + 1, phase: "ended", mrr: "0" },
      ]);
    });

    // oxlint-disable-next-line typescript/no-explicit-any -- rows of any answer
    const tables: readonly (readonly [path: string, rows: (data: any) => Row[]])[] = [
      [
        `/v1/metrics/mrr?${march}`,
        ({ breakdown_by_provider: parts, currency }) =>
          Object.entries(parts).map(([provider, mrr]) => ({ provider, mrr, currency })),
      ],
      [`/v1/metrics/mrr/movements?interval=week&${march}`, withCurrency("movements")],
      [`/v1/metrics/mrr/movements?currency=USD&${march}`, withCurrency("movements")],
      [`/v1/metrics/revenue?${march}`, withCurrency("revenue")],
      [`/v1/metrics/revenue?group_by=product&${march}`, withCurrency("revenue")],
      [`/v1/metrics/revenue?group_by=country&${march}`, withCurrency("revenue")],
      [`/v1/metrics/summary?${march}`, (data) => [data]],
      [`/v1/products?period=lifetime&${march}`, (data) => data],
      [`/v1/metrics/mrr/changes?from_known_at=1970-01-01T00:00:00Z&${until}`, (data) => data],
      [`/v1/mrr-movements?${march}`, (data) => data],
      [
        `/v1/metrics/cohorts?gross=true&${march}`,
        ({ cohorts }) => {
          const [{ vintage, starting_mrr, retention_curve, gross_retention_curve }] = cohorts;
          return retention_curve.map((percent: number, period: number) => ({
            vintage,
            period,
            retention_percentage: percent,
            gross_retention_percentage: gross_retention_curve[period],
            starting_mrr,
            currency: "EUR",
          }));
        },
      ],
      [
        `/v1/metrics/cohorts?basis=accounts&${march}`,
        ({ cohorts: [{ vintage, starting_accounts, retention_curve }] }) =>
          retention_curve.map((retention_percentage: number, period: number) => ({
            vintage,
            period,
            retention_percentage,
            starting_accounts,
          })),
      ],
    ];
    for (const [path, rowsOf] of tables) {
      it(`should be the rows of ${path}, in every format`, async () => {
        const { json } = await get(path);
        const expected = rowsOf(json.data);
        expect(expected).not.to.deep.equal([]);
        await expectExported(path, expected);
      });
    }

    const february = "from=2026-02-01&to=2026-03-01";
    const january = "from=2026-01-01&to=2026-02-01";
    const knownThen = "2026-03-01T00:00:00Z";
    const readingThen = `compare=known_then&compare_known_at=${knownThen}`;
    const comparedTables: readonly (readonly [path: string, compared: string])[] = [
      ...["/v1/metrics/revenue?", "/v1/metrics/revenue?group_by=country&"].map(
        (path) =>
          [
            `${path}compare=previous_period&${february}&${march}`,
            `${path}${january}&${march}`,
          ] as const,
      ),
      [
        `/v1/metrics/mrr/movements?group_by=provider&compare=previous_period&${february}&${march}`,
        `/v1/metrics/mrr/movements?group_by=provider&${january}&${march}`,
      ],
      ...[
        "/v1/metrics/cohorts?",
        "/v1/metrics/cohorts?basis=accounts&",
        "/v1/products?period=lifetime&",
      ].map(
        (path) =>
          [`${path}${readingThen}&${march}`, `${path}at=${at}&known_at=${knownThen}`] as const,
      ),
    ];
    for (const [path, compared] of comparedTables) {
      it(`should have the rows that ${path} compares with, in every format`, async () => {
        const rowsOf = async (of: string, reading: string): Promise<Row[]> =>
          jsonLines((await get(of, ndjson)).text).map((row) => Object.assign({ reading }, row));
        const asked = path.replace(/compare=[^&]*&(compare_known_at=[^&]*&)?/, "");
        const then = await rowsOf(compared, "compared");
        expect(then).not.to.deep.equal([]);
        await expectExported(path, [...(await rowsOf(asked, "asked")), ...then]);
      });
    }

    const accepted: [accept: string, type: string][] = [
      ["*/*", "application/json"],
      ["application/json; charset=utf-8", "application/json"],
      ["text/html, application/xhtml+xml, */*;q=0.8", "application/json"],
      ["text/csv, */*;q=0.1", csv],
      ["text/*", csv],
      ["text/csv;q=0.5, application/json;q=0.4", csv],
      ["text/csv; charset=utf-8", csv],
      ["application/x-ndjson, text/csv;q=0.9", ndjson],
    ];
    for (const [accept, type] of accepted) {
      it(`should answer Accept: ${accept} with ${type}`, async () => {
        const { status, headers } = await get("/v1/products", accept);
        expect(status).to.equal(200);
        expect(headers.get("content-type")).to.match(new RegExp(`^${type};`));
        expect(headers.get("vary")).to.equal("Accept");
      });
    }

    it("should write times as spreadsheets read them, under names no SQL reserves", async () => {
      const { text } = await get(`/v1/mrr-movements?${march}`, csv);
      const [head = "", line = ""] = text.split("\r\n");
      expect(head.split(",")).to.include("happened_at").and.not.include("at");
      expect(line).to.match(/,\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3},/);
      const series = await get(`/v1/metrics/revenue?${march}`, csv);
      expect(series.text).to.match(/^period_start,period_end,/);
    });

    it("should say of the times of a Parquet file that they are UTC", async () => {
      await readParquet(`/v1/mrr-movements?${march}`);
      const columns = await endpoints.service.clickhouse.rows<{
        name: string;
        logical_type: string;
      }>(
        `SELECT arrayJoin(columns) AS c, c.name AS name, c.logical_type AS logical_type
         FROM file('${join(testFolder, "export.parquet")}', ParquetMetadata)`,
      );
      const [time] = columns.filter(({ name }) => name === "happened_at");
      expect(time?.logical_type).to.match(/isAdjustedToUTC=true.*is_from_converted_type=false/);
    });

    it("should take the wide forms of what begins a formula for the same", async () => {
      const columns = columnsOf(z.object({ text: z.string() }));
      const lines = csvEncoder(columns).rows(["＝1+1", "＠SUM", "1＋1"].map((text) => ({ text })));
      expect(lines).to.equal("'＝1+1\r\n'＠SUM\r\n1＋1\r\n");
    });

    for (const [format, type] of [
      ["csv", csv],
      ["ndjson", ndjson],
      ["parquet", parquet],
      ["json", "application/json"],
    ] as const) {
      it(`should answer format=${format} with ${type}, whatever Accept says`, async () => {
        const { status, headers } = await get(`/v1/products?format=${format}`, "text/html");
        expect(status).to.equal(200);
        expect(headers.get("content-type")).to.match(new RegExp(`^${type}`));
      });
    }

    it("should refuse a format there is not", async () => {
      const answer = await get("/v1/products?format=xlsx");
      expectError(answer, "400 parameter_invalid format");
    });

    for (const accept of ["text/html", "application/json;q=0"]) {
      it(`should refuse Accept: ${accept}, which is not offered`, async () => {
        const answer = await get("/v1/products", accept);
        expectError(answer, "406 not_acceptable Accept");
      });
    }
  });

  describe("on their way", () => {
    const kinds = formats.map(({ mediaType }) => mediaType);
    for (const accept of kinds) {
      for (const isAway of [true, false]) {
        const why = isAway ? "a page fails" : "fewer rows are read than were counted";
        it(`should be an error to the reader of ${accept} when ${why}`, async () => {
          const app = await openApp(endpoints, 3, async function* () {
            yield rowsFrom(0, 1);
            yield rowsFrom(1, 1);
            if (isAway) throw new Error("the store went away");
          });
          const reading = fetch(app.url, { headers: { accept } }).then((got) => got.arrayBuffer());
          expect(await reading.catch(() => "cut short")).to.equal("cut short");
          expect(await app.outcomes()).to.deep.equal({ cut_short: 1 });
          await app.close();
        });
      }
    }

    const pagesMax = 100;
    const pageText = "x".repeat(1_000);
    const pageRows = 1_000;
    /** Pages of a megabyte each. */
    async function openLong() {
      const seen = { read: 0, closed: 0 };
      const app = await openApp(endpoints, pagesMax * pageRows, async function* () {
        try {
          for (let page = 0; page < pagesMax; page += 1) {
            seen.read += 1;
            yield rowsFrom(page * pageRows, pageRows, pageText);
          }
        } finally {
          seen.closed += 1;
        }
      });
      return { ...app, seen };
    }

    it("should read no further than the caller takes", async () => {
      const app = await openLong();
      const response = await openUnread(app.url);
      for (let before = -1; before !== app.seen.read; await pause(50)) before = app.seen.read;
      // What sockets hold aside, only a few pages are.
      expect(app.seen.read).to.be.below(pagesMax / 2);
      let bytes = 0;
      for await (const chunk of response) bytes += Buffer.from(chunk).length;
      expect(app.seen.read).to.equal(pagesMax);
      expect(bytes).to.be.above(pagesMax * pageRows * pageText.length);
      expect(await app.outcomes()).to.deep.equal({ whole: 1 });
      await app.close();
    });

    it("should be few at a time, and end when the caller leaves", async () => {
      const app = await openLong();
      const unread: IncomingMessage[] = [];
      for (let open = 0; open < limits.exportsAtOnceMax; open += 1) {
        const own = `${app.url}?workspace=${open}`;
        unread.push(await openUnread(own));
        // Another of the same workspace, while the others have their turn.
        expect(await refusalOf(own)).to.match(/of this workspace/);
      }
      expect(await refusalOf(`${app.url}?workspace=last`)).to.match(/Other exports are/);
      for (const response of unread) response.destroy();
      while (app.seen.closed < unread.length) await pause(10);
      expect(app.seen.read).to.be.below(pagesMax);
      expect(await app.outcomes()).to.deep.equal({ left: unread.length });
      const next = await openUnread(app.url);
      expect(next.statusCode).to.equal(200);
      next.destroy();
      await app.close();
    });

    it("should give their place back after a head without a body", async () => {
      const app = await openLong();
      for (let call = 0; call <= limits.exportsAtOnceMax; call += 1) {
        const headers = { accept: csv };
        const { status } = await fetch(app.url, { method: "HEAD", headers });
        expect(status).to.equal(200);
        while ((await app.outcomes()).left !== call + 1) await pause(5);
      }
      expect(app.seen.read).to.equal(0);
      await app.close();
    });
  });

  describe("as CSV", () => {
    const columns = columnsOf(
      z.object({ text: z.string().nullable(), amount: z.number(), list: z.array(z.string()) }),
    );
    const cells: readonly (readonly [title: string, row: Row, line: string])[] = [
      ["plain text", { text: "Atlas Pro" }, "Atlas Pro,0,[]"],
      ["no text", { text: null }, ",0,[]"],
      ["an empty text", { text: "" }, '"",0,[]'],
      ["a comma", { text: "a,b" }, '"a,b",0,[]'],
      ["a quote", { text: 'a"b' }, '"a""b",0,[]'],
      ["a line end", { text: "a\r\nb" }, '"a\r\nb",0,[]'],
      ["a semicolon", { text: "a;=b" }, '"a;=b",0,[]'],
      ["space at an end", { text: " a" }, '" a",0,[]'],
      ["other scripts", { text: "Größe 寿司 🍣" }, "Größe 寿司 🍣,0,[]"],
      ["a formula", { text: "=1+1" }, "'=1+1,0,[]"],
      ["a formula with a quote", { text: '=HYPERLINK("x")' }, '"\'=HYPERLINK(""x"")",0,[]'],
      ["a plus", { text: "+1" }, "'+1,0,[]"],
      ["a minus", { text: "-1" }, "'-1,0,[]"],
      ["an at", { text: "@SUM(A1)" }, "'@SUM(A1),0,[]"],
      ["a tab", { text: "\t=1" }, '"\'\t=1",0,[]'],
      ["a carriage return", { text: "\r=1" }, '"\'\r=1",0,[]'],
      ["a formula with an apostrophe", { text: "'=1" }, "''=1,0,[]"],
      ["an apostrophe alone", { text: "'Round" }, "'Round,0,[]"],
      ["a signed amount", { text: "a", amount: -12.5 }, "a,-12.5,[]"],
      ["a small amount", { text: "a", amount: 1e-7 }, "a,0.0000001,[]"],
      ["a large amount", { text: "a", amount: 123_456_789_012.99 }, "a,123456789012.99,[]"],
      ["a list", { text: "a", list: ["b", "c"] }, 'a,0,"[""b"",""c""]"'],
    ];
    for (const [title, row, line] of cells) {
      it(`should write ${title}`, () => {
        const encoder = csvEncoder(columns);
        expect(encoder.begin()).to.equal("text,amount,list\r\n");
        expect(encoder.rows([{ amount: 0, list: [], ...row }])).to.equal(`${line}\r\n`);
      });
    }
  });
});

type Row = Readonly<Record<string, unknown>>;

/** One to three versions of each, that differ in what is filtered by. */
function scattered(ids: number): TestVersion[] {
  return Array.from({ length: ids }, (_, index) => index).flatMap((index) =>
    Array.from({ length: index % 97 < 5 ? (index % 3) + 1 : 1 }, (_none, turn) => ({
      id: `tx_${String(index).padStart(5, "0")}`,
      timestamp: first + index * hourMs,
      recorded_at: first + (index + turn * 30) * hourMs,
      version: turn + 1,
      provider: index % 40 === 0 ? "apple" : "stripe",
      external_id: names[index % names.length] ?? "",
      gross_amount: index % 30 === 0 ? 1_000_000_007 : 1999 + index,
      refunded_amount: index % 50 === 7 ? 1999 : 0,
      ...(index % 3 === 0 ? { fee_amount: index } : {}),
      original_currency: index % 30 === 0 ? "JPY" : "USD",
      fx_rate: index % 80 === 0 ? smallestRate : "0.8816443507",
      customer_country: index % 20 === 0 ? "DE" : "US",
      type: turn > 0 ? ("subscription" as const) : ("one_time" as const),
      status: index % 60 === 0 ? "refunded" : index % 70 === 0 ? "disputed" : "succeeded",
    })),
  );
}

/** Pounds for one old bolívar (VEB). */
const smallestRate = "0.000000000008816443507";
const names = ["prod_a", "=cmd|'/C calc'!A0", 'a "b", c', "line\r\nend", "寿司;", "'=", "-5"];

function withCurrency(list: string) {
  // oxlint-disable-next-line typescript/no-explicit-any -- rows of any answer
  return (data: any): Row[] =>
    data[list].map((row: Row) => ({ ...row, currency: String(data.currency) }));
}

/** RFC 4180, read by another hand than it was written; formulas as they were. */
function readCsv(text: string): Row[] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (const [, comma, quoted, plain = "", end] of text.matchAll(
    /(^|,|(?<=\n))(?:"((?:[^"]|"")*)"|([^",\r\n]*))(\r\n|(?=,))/g,
  )) {
    expect(comma).not.to.equal(undefined);
    const cell = quoted === undefined ? plain : quoted.replaceAll('""', '"');
    line.push(/^'+[=+\-@\t\r\n]/.test(cell) ? cell.slice(1) : cell);
    if (end === "") continue;
    lines.push(line);
    line = [];
  }
  const [head = [], ...rows] = lines;
  return rows.map((cells) => {
    expect(cells).to.have.length(head.length);
    return Object.fromEntries(head.map((name, index) => [name, cells[index]]));
  });
}

/** What SQL reserves is called otherwise in tables. */
const tableNames: Readonly<Record<string, string>> = {
  from: "period_start",
  to: "period_end",
  at: "happened_at",
};

/** All values as one kind of text, however a format writes them; what is null as nothing. */
function textsOf(rows: readonly Row[]): Record<string, string>[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row)
        .map(([name, value]) => [tableNames[name] ?? name, textOf(value)] as const)
        .filter(([, text]) => text !== "")
        .sort(([one], [other]) => (one < other ? -1 : 1)),
    ),
  );
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (/^-?\d+\.\d+$/.test(text)) return text.replace(/\.?0+$/, "");
  if (/^[\d.]+e-\d+$/.test(text)) return trimmedText(must(parseDecimal(text), text));
  return /^\d{4}-\d\d-\d\d \d\d:/.test(text) ? `${text.replace(" ", "T")}Z` : text;
}

function rowsFrom(start: number, count: number, text = "x"): Row[] {
  return Array.from({ length: count }, (_, index) => ({ id: start + index, text }));
}

/** The service's own app and server, with one export whose pages are given. */
async function openApp(endpoints: Endpoints, count: number, pages: () => AsyncIterable<Row[]>) {
  const metrics = createMetrics();
  const router = new Router();
  const exports = createExports({ logger: endpoints.service.logger, metrics });
  router.get("/rows", async (ctx) => {
    const format = formatOf(ctx, undefined);
    if (format === null) throw new Error("asked for an export");
    await exports.send(ctx, format, {
      name: "rows",
      columns: columnsOf(z.object({ id: z.int(), text: z.string() })),
      asOf: {
        workspace: String(ctx.query["workspace"]),
        environment: "live",
        at: first,
        knownAt: first,
      },
      clocks: { now: first, completeTo: first, reach: first },
      count: async () => count,
      pages,
    });
  });
  const { limits: callLimits, logger } = endpoints.service;
  const app = createApp({ limits: callLimits, logger, metrics, router });
  const { url, close } = await listen(createHttpServer(app));
  return {
    url: `${url}/rows`,
    async outcomes(): Promise<Record<string, number>> {
      const text = await metrics.registry.metrics();
      const series = text.matchAll(/^revenue_exports_total\{.*outcome="(\w+)"\} (\d+)$/gm);
      return Object.fromEntries(
        Array.from(series, ([, outcome, exported]) => [outcome, Number(exported)]),
      );
    },
    close,
  };
}

/** @returns the message */
async function refusalOf(url: string): Promise<string> {
  const refused = await fetch(url, { headers: { accept: csv } });
  expect([refused.status, refused.headers.get("retry-after")]).to.deep.equal([503, "5"]);
  const body: unknown = await refused.json();
  expect(body).to.have.nested.property("error.code", "exports_busy");
  return JSON.stringify(body);
}

/** The answer's head; its body is not read before somebody does. */
function openUnread(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpGet(url, { headers: { accept: csv }, agent: false }, resolve).on("error", reject);
  });
}
