import { createHash } from "node:crypto";
import type { RequestListener } from "node:http";
import { Readable, pipeline } from "node:stream";
import { expect } from "chai";
import { createLogger } from "../../runtime/logger.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { type Rates, openRates } from "../../workspaces/rates/rates.js";
import { readPackedHistory } from "../../workspaces/rates/bundle.js";
import { readEcbXml, readWideList } from "../../workspaces/rates/published.js";
import { Releases } from "../../runtime/releases.js";
import { readConfig } from "../../config.js";
import {
  type PublishedQuote,
  type RateSource,
  addEdition,
  dayAfter,
  emptyQuoteTable,
  quoteFor,
  utcDay,
} from "../../schemas/money/rates.js";
import { serveHttp } from "../harness/loopback.js";
import { openTestPostgres } from "../harness/stores.js";

/** Asked for anew each time: a run may go on past midnight. */
const today = () => utcDay(Date.now());

describe("Quotes", () => {
  // source, day, currency, units per EUR, or none for a day without a list; a line of dashes begins
  // the next edition.
  const table = quoteTable(`
    ecb  2026-01-02 USD 1.25
    ecb  2026-01-02 JPY 150
    ecb  2026-01-02 RUB 100
    ecb  2026-01-02 HRK 7.5365
    ecb  2026-01-05 USD 1.26
    ecb  2026-01-05 JPY 151
    wide 2026-01-03 USD 9.99
    wide 2026-01-03 RUB 90
    wide 2026-01-03 VND 30000
    wide 2026-01-03 ARS 1000
    wide 2026-01-04 none
    wide 2026-01-05 none
    wide 2026-01-06 none
    wide 2026-01-07 none
    wide 2026-01-08 none
    wide 2026-01-09 none
    wide 2026-01-10 VND 30300
    ---
    ecb  2026-01-05 USD 1.20
    wide 2026-01-06 VND 30100
    wide 2026-01-06 CLP 1000
  `);

  // The event's day, from, to, edition → rate, the older date, source.
  const cases: [what: string, question: string, answer: string][] = [
    ["the last day published before", "2026-01-06 EUR USD 1", "1.26 2026-01-05 ecb"],
    ["the day before, never the event's own", "2026-01-05 EUR USD 1", "1.25 2026-01-02 ecb"],
    ["nothing before the first day", "2026-01-02 EUR USD 1", "none"],
    ["a weekend by Friday", "2026-01-04 EUR USD 1", "1.25 2026-01-02 ecb"],
    ["one currency by itself", "2026-01-06 VND VND 1", "1 2026-01-06 same"],
    ["one unquoted currency by itself", "1999-01-06 VND VND 1", "1 1999-01-06 same"],
    ["the reciprocal in 10 digits", "2026-01-05 USD EUR 1", "0.8 2026-01-02 ecb"],
    ["a cross rate in 10 digits", "2026-01-06 JPY USD 1", "0.008344370861 2026-01-05 ecb"],
    ["a source two legs do not share", "2026-01-06 VND USD 1", "0.000042 2026-01-03 wide"],
    ["ECB before the wide list", "2026-01-04 RUB EUR 1", "0.01 2026-01-02 ecb"],
    ["ECB 10 days after it went on", "2026-01-15 RUB EUR 1", "0.01 2026-01-02 ecb"],
    ["the wide list from the 11th day", "2026-01-16 RUB EUR 1", "0.01111111111 2026-01-03 wide"],
    ["the same rule for the wide list", "2026-01-20 ARS EUR 1", "0.001 2026-01-03 wide"],
    ["nothing once both went on", "2026-01-21 ARS EUR 1", "none"],
    [
      "a source with nothing newer for long",
      "2028-01-01 VND EUR 1",
      "0.00003300330033 2026-01-10 wide",
    ],
    ["predecessors of the euro for ever", "2036-01-01 HRK EUR 1", "0.1326875871 2026-01-02 ecb"],
    ["an unknown currency never", "2026-01-06 XXX EUR 1", "none"],
    ["an unquoted currency never", "2026-01-06 KWD EUR 1", "none"],
    ["a correction for the later edition", "2026-01-06 EUR USD 2", "1.2 2026-01-05 ecb"],
    [
      "a filled in day for the later edition",
      "2026-01-07 VND EUR 2",
      "0.00003322259136 2026-01-06 wide",
    ],
    [
      "not a filled in day for the earlier",
      "2026-01-07 VND EUR 1",
      "0.00003333333333 2026-01-03 wide",
    ],
    ["not its currencies for the earlier", "2026-01-07 CLP EUR 1", "none"],
    ["a gap seen only by the later edition", "2026-01-17 ARS EUR 2", "none"],
    ["no gap seen by the earlier edition", "2026-01-17 ARS EUR 1", "0.001 2026-01-03 wide"],
  ];
  for (const [what, question, answer] of cases) {
    it(`should take ${what}`, () => {
      const [day = "", currency = "", base = "", edition = ""] = question.split(" ");
      const asked = { day, currency, base, edition: Number.parseInt(edition, 10) };
      const quote = quoteFor(table, asked);
      expect(quote ? `${quote.rate} ${quote.date} ${quote.source}` : "none").to.equal(answer);
      expect(quoteFor(table, asked), "asked again").to.equal(quote);
    });
  }

  // Some lists of a source that has one every day.
  const scattered = quoteTable(`
    wide 2026-03-05 ARS 915
    wide 2026-08-31 ARS 1580
    ---
    wide 2026-08-20 ARS 1500
    wide 2026-08-21 none
    ---
    wide 2026-08-23 VND 30000
    wide 2026-08-22 none
    wide 2026-08-24 none
  `);
  const gaps: [what: string, question: string, answer: string][] = [
    ["the list of the day before", "2026-03-06 1", "2026-03-05"],
    ["nothing when a day between was not asked for", "2026-03-07 1", "none"],
    ["nothing far from the list before", "2026-08-31 1", "none"],
    ["the newest list on the day after", "2026-09-01 1", "2026-08-31"],
    ["the newest list as long as there is no newer one", "2026-11-20 1", "2026-08-31"],
    ["a list that was filled in", "2026-08-21 2", "2026-08-20"],
    ["the list before a day without one", "2026-08-22 2", "2026-08-20"],
    ["nothing as long as it was not known that there is none", "2026-08-22 1", "none"],
    ["nothing beyond the days that were asked for", "2026-08-23 2", "none"],
    ["the list before several days without one", "2026-08-23 3", "2026-08-20"],
    ["the last quote when the source went on without it", "2026-08-25 3", "2026-08-20"],
    ["nothing when it may have come back since", "2026-08-26 3", "none"],
  ];
  for (const [what, question, answer] of gaps) {
    it(`should take, of scattered lists, ${what}`, () => {
      const [day = "", edition = ""] = question.split(" ");
      const asked = { day, currency: "ARS", base: "EUR", edition: Number.parseInt(edition, 10) };
      expect(quoteFor(scattered, asked)?.date ?? "none").to.equal(answer);
    });
  }

  it("should refuse an edition that is not loaded", () => {
    const asked = { currency: "USD", base: "EUR", day: "2026-01-06", edition: 3 };
    expect(() => quoteFor(table, asked)).to.throw("Edition 3 of the rates is not loaded");
  });

  it("should refuse editions out of order", () => {
    expect(() => addEdition(table, 2, [])).to.throw("Edition 2 comes after 2");
  });
});

describe("Answers of the sources", () => {
  it("should read the bank's XML", () => {
    expect(readEcbXml(ecbXml([["2026-11-19", { USD: "1.10", JPY: "170" }]]))).to.deep.equal([
      { source: "ecb", day: "2026-11-19", currency: "USD", perEur: "1.1" },
      { source: "ecb", day: "2026-11-19", currency: "JPY", perEur: "170" },
    ]);
  });

  const good = ecbXml([["2026-11-19", { USD: "1.10" }]]);
  const broken: [what: string, text: string][] = [
    ["nothing", ""],
    ["a page of a proxy", "<html>Sign in</html>"],
    ["an answer cut short", good.slice(0, -20)],
    ["a rate that is no number", good.replace("1.10", "N/A")],
    ["a rate of nothing", good.replace("1.10", "0")],
    ["a rate below nothing", good.replace("1.10", "-1.10")],
    ["a day that is none", good.replace("2026-11-19", "2026-13-19")],
    ["a rate before any day", good.replace(/<Cube time[^>]*>/, "")],
  ];
  for (const [what, text] of broken) {
    it(`should refuse ${what}`, () => {
      expect(() => readEcbXml(text)).to.throw();
    });
  }

  it("should leave coins, metals and nonsense out of the wide list", () => {
    const text = wideJson("2026-11-19", { usd: 1.1, btc: 1e-5, xau: 1, vnd: 3e4, kwd: -1, eur: 1 });
    expect(readWideList(text).map(({ currency, perEur }) => [currency, perEur])).to.deep.equal([
      ["USD", "1.1"],
      ["VND", "30000"],
    ]);
  });

  it("should refuse a wide list without the dollar", () => {
    expect(() => readWideList(wideJson("2026-11-19", { vnd: 30_000 }))).to.throw("dollar");
  });
});

describe("The packed history", () => {
  it("should never change up to the end of edition 1: figures were booked on it", async () => {
    const { first } = await readPackedHistory();
    const lines = first.currencies.flatMap((currency) =>
      Array.from(first.quotesOf(currency), ({ day, perEur }) => `${day} ${currency} ${perEur}\n`),
    );
    const hash = createHash("sha256").update(lines.sort().join(""));
    expect(hash.digest("hex")).to.equal(historyHash);
  });
});

describe("Rates", () => {
  const noon = Date.parse("2026-11-20T12:00:00Z");
  const march5 = Date.parse("2026-03-05T10:00:00Z");
  let postgres: Postgres;
  let origin: string;
  let answer: RequestListener;
  let asked: string[];
  let opened: Rates[];

  before(async () => {
    postgres = await openTestPostgres();
    origin = await serveHttp("sources of rates", (request, response) => {
      asked.push(request.url ?? "");
      answer(request, response);
    });
  });

  beforeEach(async () => {
    asked = [];
    opened = [];
    answer = notFound;
    await postgres.query("TRUNCATE rate_quotes, rate_editions");
  });

  afterEach(() => Promise.all(opened.map((rates) => rates.close())));

  async function open(
    settings: Record<string, string> = {},
    more: { answerMsMax?: number; seenMs?: number; catchUpMsMax?: number } = {},
  ): Promise<Rates> {
    const { answerMsMax = 10_000, ...delays } = more;
    const logger = createLogger("silent");
    const rates = await openRates({
      postgres,
      logger,
      releases: new Releases(logger),
      config: readConfig({
        ECB_RATES_URL: `${origin}/ecb`,
        ECB_HISTORY_URL: `${origin}/ecb-history`,
        WIDE_RATES_URL: `${origin}/wide/{date}`,
        ...settings,
      }),
      patience: { bytesMax: 100_000, answerMsMax, attemptsMax: 2, pauseMs: 1 },
      ...delays,
    });
    opened.push(rates);
    return rates;
  }

  const listOfMarch4 = {
    "/wide/2026-03-04": wideJson("2026-03-04", { usd: 1.1, vnd: 25_000 }),
  };

  /** Serves files by path; anything else is 404. */
  function serve(files: Record<string, string>): void {
    answer = (request, response) => {
      const body = files[request.url ?? ""];
      if (body === undefined) notFound(request, response);
      else response.end(body);
    };
  }

  it("should answer from the release without a network", async () => {
    const rates = await open();
    expect(rates.edition).to.equal(1);
    expect(rates.newestDay()).to.deep.equal({ ecb: "2026-10-30", wide: "2026-09-29" });
    expect(rates.quote("USD", "EUR", noon)).to.deep.equal({
      currency: "USD",
      base_currency: "EUR",
      rate: "0.8950948801",
      date: "2026-10-30",
      source: "ecb",
      edition: 1,
    });
    expect(rates.quote("VND", "USD", noon)?.source).to.equal("wide");
    // Over Easter, as long as the ECB ever paused.
    const easter = Date.parse("2000-04-24T12:00:00Z");
    expect(rates.quote("USD", "EUR", easter)?.date).to.equal("2000-04-20");
    expect(rates.quote("VND", "USD", Date.parse("2026-09-29T23:00:00Z"))).to.equal(null);
  });

  it("should add an edition on refresh and leave the earlier one as it was", async () => {
    const rates = await open();
    const before = [rates.quote("USD", "EUR", noon), rates.quote("VND", "EUR", noon)];
    const editions: number[] = [];
    rates.onEdition((edition) => editions.push(edition));
    serve({
      "/ecb": recentXml([["2026-11-19", { USD: "1.25", JPY: "170" }]]),
      [`/wide/${dayAfter(today(), -1)}`]: wideJson(dayAfter(today(), -1), {
        usd: 1.2,
        vnd: 40_000,
      }),
    });
    expect(await rates.refresh()).to.deep.equal({ added: true, failed: [] });
    expect(editions).to.deep.equal([2, 3]);
    expect(rates.quote("USD", "EUR", noon)).to.include({ rate: "0.8", date: "2026-11-19" });
    expect([rates.quote("USD", "EUR", noon, 1), rates.quote("VND", "EUR", noon, 1)]).to.deep.equal(
      before,
    );
    expect(await rates.refresh(), "nothing new").to.deep.equal({ added: false, failed: [] });
    expect(rates.edition).to.equal(3);
  });

  describe("before anything is taken", () => {
    it("should catch up with what was published since the release", async () => {
      const rates = await open();
      serve({ "/ecb": recentXml([["2026-11-19", { USD: "1.25" }]]) });
      await rates.catchUp();
      expect(rates.quote("USD", "EUR", noon)).to.include({ rate: "0.8", date: "2026-11-19" });
    });

    it("should ask a source that fails once, and go on with what is here", async () => {
      answer = (_, response) => response.writeHead(500).end();
      const rates = await open();
      await rates.catchUp();
      expect(asked.map((path) => path.replace(/\d.*/, ""))).to.deep.equal(["/ecb", "/wide/"]);
      expect(rates.edition).to.equal(1);
    });

    it("should not wait for a source that does not come to an end", async () => {
      let end = (): void => {};
      answer = (request, response) => {
        if (request.url === "/ecb") end = () => response.end(recentXml([]));
        else notFound(request, response);
      };
      const rates = await open({}, { catchUpMsMax: 1 });
      await rates.catchUp();
      expect(rates.edition).to.equal(1);
      end();
    });

    it("should ask nobody when rates are not to be refreshed", async () => {
      await (await open({ RATES_REFRESH: "off" })).catchUp();
      expect(asked).to.deep.equal([]);
    });
  });

  it("should give the same answers to another process and after a restart", async () => {
    const [first, second] = [await open(), await open()];
    serve({ "/ecb": recentXml([["2026-11-19", { USD: "1.25" }]]) });
    await first.refresh();
    expect(() => second.quote("USD", "EUR", noon, 2)).to.throw("not loaded");
    await second.know(2);
    const third = await open();
    for (const rates of [second, third]) {
      expect(rates.quote("USD", "EUR", noon, 2)).to.deep.equal(first.quote("USD", "EUR", noon, 2));
      expect(rates.quote("USD", "EUR", noon, 1)).to.deep.equal(first.quote("USD", "EUR", noon, 1));
    }
  });

  it("should say so when an edition does not exist", async () => {
    const rates = await open();
    const failure = await rates.know(9).catch((error: unknown) => String(error));
    expect(failure).to.contain("Edition 9 of the rates does not exist");
  });

  it("should number the editions of two processes that refresh at once", async () => {
    const [first, second] = [await open(), await open()];
    serve({ "/ecb": recentXml([["2026-11-19", { USD: "1.25" }]]) });
    const outcomes = await Promise.all([first.refresh(), second.refresh()]);
    expect(outcomes.map(({ added }) => added)).to.have.members([false, true]);
    expect([first.edition, second.edition]).to.deep.equal([2, 2]);
  });

  // The packed history ends on 2026-10-30; the last 90 days begin months later.
  const months: [what: string, history: string | null, answers: string[]][] = [
    [
      "fetch the days it missed before the last 90",
      ecbXml([
        ["2027-02-22", { USD: "1.2" }],
        ["2027-02-19", { USD: "1.19" }],
        ["2026-12-01", { USD: "1.15" }],
        ["2026-11-25", { USD: "1.14" }],
        ["2026-11-20", { USD: "1.13" }],
        ["2026-11-13", { USD: "1.12" }],
        ["2026-11-06", { USD: "1.11" }],
        ["2026-10-30", { USD: "9.99" }],
      ]),
      ["2026-10-30", "2026-11-25", "2027-02-19", "2027-02-22"],
    ],
    [
      "know no rate between them while they cannot be had",
      null,
      ["2026-10-30", "none", "none", "2027-02-22"],
    ],
  ];
  for (const [what, history, answers] of months) {
    it(`should ${what}`, async () => {
      const rates = await open();
      const files = { "/ecb": ecbXml([["2027-02-22", { USD: "1.2" }]]) };
      serve(history === null ? files : { ...files, "/ecb-history": history });
      const days = ["2026-10-31", "2026-11-26", "2027-02-20", "2027-02-23"];
      const dates = () =>
        days.map(
          (day) => rates.quote("USD", "EUR", Date.parse(`${day}T12:00:00Z`))?.date ?? "none",
        );
      expect(await rates.refresh()).to.deep.equal({
        added: true,
        failed: history === null ? ["ecb"] : [],
      });
      expect(dates()).to.deep.equal(answers);
      // The wide list would not be taken for them, so it is not asked for.
      asked = [];
      const between = Date.parse("2026-11-26T12:00:00Z");
      expect(await rates.ensureQuote("USD", "EUR", between)).to.equal(false);
      expect(asked).to.deep.equal([]);
      expect(rates.quote("USD", "EUR", Date.parse("2026-10-31T12:00:00Z"))?.rate).to.equal(
        "0.8950948801",
      );
    });
  }

  it("should not believe a rate ten times off, and take the others", async () => {
    const rates = await open();
    serve({ "/ecb": recentXml([["2026-11-02", { USD: "11.8", JPY: "170" }]]) });
    await rates.refresh();
    const atMs = Date.parse("2026-11-05T12:00:00Z");
    expect(rates.quote("USD", "EUR", atMs)?.date).to.equal("2026-10-30");
    expect(rates.quote("JPY", "EUR", atMs)?.date).to.equal("2026-11-02");
  });

  const failures: [what: string, answer: RequestListener][] = [
    ["an error", (_, response) => response.writeHead(500).end()],
    ["a broken body", (_, response) => response.end("<Cube time='2026-11-19'><Cube curr")],
    ["a body without an end", (_, response) => pour(response)],
    ["no answer in time", () => {}],
    ["a connection that breaks", (request) => request.socket.destroy()],
  ];
  for (const [what, given] of failures) {
    it(`should keep what it has when the sources give ${what}`, async () => {
      const rates = await open({}, { answerMsMax: 300 });
      answer = given;
      expect(await rates.refresh()).to.deep.equal({ added: false, failed: ["ecb", "wide"] });
      expect(rates.edition).to.equal(1);
      expect(rates.quote("USD", "EUR", noon)?.date).to.equal("2026-10-30");
    });
  }

  it("should try again after a failure", async () => {
    const rates = await open();
    answer = (request, response) => {
      if (asked.length === 1) response.writeHead(503).end();
      else if (request.url !== "/ecb") notFound(request, response);
      else response.end(recentXml([["2026-11-19", { USD: "1.25" }]]));
    };
    expect(await rates.refresh()).to.deep.equal({ added: true, failed: [] });
  });

  it("should fetch the list of a past day once when it is asked for", async () => {
    const rates = await open();
    serve(listOfMarch4);
    const asks = ["VND", "ARS", "VND"].map((code) => rates.ensureQuote(code, "EUR", march5));
    expect(await Promise.all(asks)).to.deep.equal([true, true, true]);
    expect(asked).to.deep.equal(["/wide/2026-03-04"]);
    expect(rates.quote("VND", "EUR", march5)).to.include({ rate: "0.00004", date: "2026-03-04" });
    expect(rates.quote("VND", "EUR", march5, 1), "the edition before").to.equal(null);
    expect(await rates.ensureQuote("VND", "EUR", march5), "it is here").to.equal(false);
  });

  it("should go back over days the wide list left out", async () => {
    const rates = await open();
    serve({ "/wide/2026-03-02": wideJson("2026-03-02", { usd: 1.1, vnd: 25_000 }) });
    expect(await rates.ensureQuote("VND", "EUR", march5)).to.equal(true);
    expect(asked).to.have.length(3);
    for (const same of [rates, await open()]) {
      expect(same.quote("VND", "EUR", march5)?.date).to.equal("2026-03-02");
    }
  });

  it("should fetch the list of a day though there is one of a year before", async () => {
    const rates = await open();
    serve({
      "/wide/2024-03-05": wideJson("2024-03-05", { usd: 1.1, ars: 915 }),
      "/wide/2025-08-31": wideJson("2025-08-31", { usd: 1.1, ars: 1580 }),
    });
    for (const day of ["2024-03-05", "2025-08-31"]) {
      const atMs = Date.parse(dayAfter(day, 1));
      expect(rates.quote("ARS", "EUR", atMs), day).to.equal(null);
      expect(await rates.ensureQuote("ARS", "EUR", atMs)).to.equal(true);
      expect(rates.quote("ARS", "EUR", atMs)?.date).to.equal(day);
    }
  });

  it("should report the lists of several days once", async () => {
    const rates = await open();
    const reported: number[] = [];
    rates.onEdition((edition) => reported.push(edition));
    serve({
      "/wide/2026-03-01": wideJson("2026-03-01", { usd: 1.1, vnd: 25_000 }),
      "/wide/2026-04-01": wideJson("2026-04-01", { usd: 1.1, vnd: 26_000 }),
    });
    const days = ["2026-03-02", "2026-04-02", "2025-01-01"];
    await Promise.all(days.map((day) => rates.ensureQuote("VND", "EUR", Date.parse(day))));
    expect(reported).to.deep.equal([3]);
  });

  it("should report a list that is here while others are still awaited", async () => {
    const rates = await open({}, { seenMs: 20 });
    const reported = new Promise<number>((resolve) => rates.onEdition(resolve));
    answer = (request, response) => {
      // The others are not answered at all.
      if (request.url !== "/wide/2026-03-04") return;
      response.end(wideJson("2026-03-04", { usd: 1.1, vnd: 25_000 }));
    };
    const first = rates.ensureQuote("VND", "EUR", march5);
    const others = Array.from({ length: 100 }, (_, index) =>
      rates.ensureQuote("VND", "EUR", Date.parse(dayAfter("2025-01-02", index))),
    );
    expect(await first).to.equal(true);
    expect(await Promise.race([...others, reported.then(() => "reported")])).to.equal("reported");
  });

  it("should fetch the list that the base currency lacks", async () => {
    const rates = await open();
    serve(listOfMarch4);
    expect(await rates.ensureQuote("USD", "VND", march5)).to.equal(true);
    expect(rates.quote("USD", "VND", march5)?.date).to.equal("2026-03-04");
  });

  it("should remember a day that a refresh finds without a list", async () => {
    const rates = await open();
    const [last, skipped, before] = [-1, -2, -3].map((days) => dayAfter(today(), days));
    if (!last || !skipped || !before) throw new Error("no days");
    serve({
      "/ecb": recentXml([["2026-11-19", { USD: "1.25" }]]),
      [`/wide/${before}`]: wideJson(before, { usd: 1.2, vnd: 41_000 }),
      [`/wide/${last}`]: wideJson(last, { usd: 1.2, vnd: 40_000 }),
    });
    expect(await rates.refresh()).to.deep.equal({ added: true, failed: [] });
    expect(rates.quote("VND", "EUR", Date.parse(last))?.date).to.equal(before);
  });

  it("should not believe that days have no list when none came at all", async () => {
    const rates = await open();
    serve(listOfMarch4);
    await rates.ensureQuote("VND", "EUR", march5);
    answer = notFound;
    const march8 = Date.parse("2026-03-08");
    expect(await rates.ensureQuote("VND", "EUR", march8)).to.equal(false);
    expect(rates.quote("VND", "EUR", march8)).to.equal(null);
    expect(rates.edition).to.equal(2);
  });

  it("should not take the list of another day", async () => {
    const rates = await open();
    serve({ "/wide/2026-03-04": wideJson("2026-03-05", { usd: 1.1, vnd: 25_000 }) });
    expect(await rates.ensureQuote("VND", "EUR", march5)).to.equal(false);
    expect(rates.edition).to.equal(1);
  });

  const unasked: [what: string, currency: string, day: string, settings: Record<string, string>][] =
    [
      ["for what the ECB quotes", "USD", "2026-03-05", {}],
      ["for the euro", "EUR", "2026-03-05", {}],
      ["for a currency nobody knows", "XXX", "2026-03-05", {}],
      ["for days before there were lists", "VND", "2024-03-02", {}],
      ["for days to come", "VND", dayAfter(today(), 400), {}],
      ["when refreshing is off", "VND", "2026-03-05", { RATES_REFRESH: "off" }],
    ];
  for (const [what, currency, day, settings] of unasked) {
    it(`should not ask for a day ${what}`, async () => {
      const rates = await open(settings);
      const atMs = Date.parse(day);
      expect(rates.mayCome(currency, "EUR", atMs)).to.equal(false);
      expect(await rates.ensureQuote(currency, "EUR", atMs)).to.equal(false);
      expect(asked).to.deep.equal([]);
    });
  }

  it("should not ask again soon for a day that was not there", async () => {
    const rates = await open();
    expect(await rates.ensureQuote("VND", "EUR", march5)).to.equal(false);
    expect(asked).to.have.length(10);
    expect(await rates.ensureQuote("VND", "EUR", march5)).to.equal(false);
    expect(asked).to.have.length(10);
  });

  it("should end a fetch that is under way when it is closed", async () => {
    const rates = await open();
    answer = () => void rates.close();
    expect(await rates.ensureQuote("VND", "EUR", march5)).to.equal(false);
    expect(asked).to.have.length(1);
  });
});

const historyHash = "85d527ca03985a52bd5976245de8fdf694c9753f876c6cf3c0c1601223b697e3";

function quoteTable(text: string): ReturnType<typeof emptyQuoteTable> {
  const table = emptyQuoteTable();
  for (const [index, part] of text.split("---").entries()) {
    const rows = part.trim().split("\n");
    const words = rows.map((row) => row.trim().split(/\s+/));
    const quotes = words
      .filter(([, , currency]) => currency !== "none")
      .map(([source = "", day = "", currency = "", perEur = ""]): PublishedQuote => {
        return { source: sourceOf(source), day, currency, perEur };
      });
    const absent = words.filter(([, , currency]) => currency === "none");
    addEdition(
      table,
      index + 1,
      quotes,
      absent.map(([, day = ""]) => day),
    );
  }
  return table;
}

function sourceOf(text: string): RateSource {
  if (text !== "ecb" && text !== "wide") throw new Error(`bad row: ${text}`);
  return text;
}

function ecbXml(days: [day: string, rates: Record<string, string>][]): string {
  const cubes = days.map(([day, rates]) => {
    const lines = Object.entries(rates).map(([code, rate]) => {
      return `<Cube currency="${code}" rate="${rate}"/>`;
    });
    return `<Cube time="${day}">${lines.join("")}</Cube>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?><gesmes:Envelope><gesmes:subject>Reference rates
    </gesmes:subject><Cube>${cubes.join("")}</Cube></gesmes:Envelope>`;
}

/** With a day of each week since the packed ones end, as the last 90 days would show them all. */
function recentXml(days: Parameters<typeof ecbXml>[0]): string {
  const weekly = ["2026-10-30", "2026-11-06", "2026-11-13"];
  return ecbXml([...weekly.map((day): (typeof days)[number] => [day, { CHF: "0.93" }]), ...days]);
}

function wideJson(date: string, eur: Record<string, number>): string {
  return JSON.stringify({ date, eur });
}

const notFound: RequestListener = (_, response) => response.writeHead(404).end();

/** Sends without a length and without an end, until the reader hangs up. */
function pour(response: Parameters<RequestListener>[1]): void {
  const spaces = Readable.from(endless(Buffer.alloc(16_384, 32)));
  pipeline(spaces, response, () => {});
}

function* endless<T>(value: T): Generator<T> {
  for (;;) yield value;
}
