/** The CSV import, against the real service: what is reported, what is sent, what is sent again. */
import { readFileSync } from "node:fs";
import { type IncomingMessage, request as forward } from "node:http";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { expect } from "chai";
import { projectFile } from "../../runtime/project-root.js";
import { importBatchLinesMax } from "../../ops/import/command.js";
import { EventIds } from "../../ops/import/event-ids.js";
import { columns } from "../../ops/import/rows.js";
import { serveHttp } from "../harness/loopback.js";
import { suiteImports } from "./imports.js";

const head =
  "provider,event_type,amount,currency,occurred_at,customer_id,product_id,subscription_id";
const sale = (amount: string, customer: string, day = "01") =>
  `custom,transaction.sale,${amount},EUR,2026-03-${day}T10:00:00Z,${customer},poster,`;

describe("The CSV import", () => {
  const { endpoints, folder, fileOf, run, apply } = suiteImports();

  it("should say what a file amounts to, and send nothing without --apply", async () => {
    const file = fileOf([
      head,
      sale("0.10", "a"),
      sale("0.20", "b", "05"),
      "custom,subscription.new,1200,JPY,2026-03-02T00:00:00+09:00,c,plan,sub_1",
    ]);
    const before = await endpoints.taken();
    for (const words of [[file], [file, "--dry-run"]]) {
      expect(await run(...words)).to.deep.include({
        code: 0,
        reported: [
          "3 rows are right, 2026-03-01T10:00:00.000Z to 2026-03-05T10:00:00.000Z:",
          "  subscription.new 1 rows, 1200 JPY",
          "  transaction.sale 2 rows, 0.30 EUR",
          "Nothing was sent: this was a dry run. With --apply it is sent.",
        ],
      });
    }
    expect(await endpoints.taken()).to.equal(before);
  });

  it("should pass over lines of nothing, with separators or without", async () => {
    const nothing = ["", ",,,,,,,", " , ,,,,,,", '"",,,,,,,'];
    const { code, text } = await run(fileOf([head, ...nothing, sale("1", "a"), ...nothing]));
    expect(text).to.match(/^1 rows are right/);
    expect(code).to.equal(0);
  });

  it("should say of a file of nothing but its columns that it has no rows", async () => {
    const { code, reported } = await run(fileOf([head]));
    expect(reported[0]).to.equal("There are no rows.");
    expect(code).to.equal(0);
  });

  it("should be taken once, however often it is sent, mended or in another order", async () => {
    const rows = [sale("12.34", "once"), sale("12.34", "twice"), sale("12.34", "twice")];
    const before = await endpoints.taken();
    const first = await apply([fileOf([head, ...rows])]);
    expect(first.text).to.include("1 rows without event_id are equal to an earlier one");
    expect(first.reported.at(-1)).to.equal("Taken: 3. Known already: 0. Refused: 0.");
    expect(first.code).to.equal(0);
    const mended = [head, sale("99.00", "new"), ...rows.toReversed()];
    const again = await apply([fileOf(mended, "\r\n")]);
    expect(again.reported.at(-1)).to.equal("Taken: 1. Known already: 3. Refused: 0.");
    expect((await endpoints.taken()) - before).to.equal(4n);
  });

  it("should be booked to the cent", async () => {
    const amount = "98765432109.87";
    const file = fileOf([head, sale(amount, "rich", "07")]);
    expect((await apply([file])).code).to.equal(0);
    const path = "/v1/transactions?from=2026-03-07T00:00:00Z&to=2026-03-08T00:00:00Z";
    await endpoints.booked();
    const { data } = (await endpoints.get(path)).json;
    expect(data).to.have.lengthOf(1);
    expect(data[0]).to.include({ gross_amount: 98765432109.87, product_name: "poster" });
  });

  const wrong: [title: string, row: string, reported: RegExp][] = [
    ["an amount with a thousands separator", sale('"1,234.50"', "a"), /plain decimal number/],
    ["an amount that is too precise", sale("1.234", "a"), /amount_too_precise/],
    ["a negative amount", sale("-1", "a"), /amount_negative/],
    ["no amount", sale("", "a"), /amount is required/],
    ["no time", "custom,transaction.sale,1,EUR,,a,,", /occurred_at is required/],
    ["a day for a time", "custom,transaction.sale,1,EUR,2026-03-01,a,,", /occurred_at_invalid/],
    ["an unknown type", "custom,refund,1,EUR,2026-03-01T00:00:00Z,a,,", /event_type_unknown/],
    ["Paddle", "paddle,transaction.sale,1,EUR,2026-03-01T00:00:00Z,a,,", /not_ingestable/],
    ["a cell too many", `${sale("1", "a")},x`, /more or fewer cells/],
    ["a text that is not in UTF-8", sale("1", "M\u{fffd}ller"), /customer_id is not in UTF-8/],
    ["a NUL, which the service would refuse", sale("1", "a\0b"), /customer_id has a NUL/],
  ];
  it("should report a country the service would refuse", async () => {
    const country = (code: string) => `${sale("1", "a")},${code}`;
    const file = fileOf([`${head},customer_country`, country("GB"), country("UK")]);
    const { code, reported } = await run(file);
    expect(code).to.equal(1);
    expect(reported[0]).to.match(/^line 3: customer_country .* GB \(field_invalid\)$/);
  });

  for (const [title, row, reported] of wrong) {
    it(`should report ${title} by its line, and send nothing`, async () => {
      const before = await endpoints.taken();
      const { code, reported: lines } = await apply([fileOf([head, sale("1", "ok"), "", row])]);
      expect(code).to.equal(1);
      expect(lines[0])
        .to.match(/^line 4: /)
        .and.match(reported);
      expect(lines).to.include("Wrong lines: 1");
      expect(lines.at(-1)).to.equal("Nothing was sent: the lines above are wrong.");
      expect(await endpoints.taken()).to.equal(before);
    });
  }

  it("should read a row as the service does, to the last digit", async () => {
    const before = await endpoints.taken();
    const quantity = `0.${"0".repeat(330)}1`;
    const file = fileOf([`${head},quantity`, `${sale("1", "a")},${quantity}`]);
    const { code, reported } = await run(file);
    expect(code).to.equal(1);
    expect(reported[0]).to.match(/^line 2: quantity .*field_invalid/);
    const line = {
      provider: "custom",
      event_type: "transaction.sale",
      amount: 1,
      currency: "EUR",
      quantity,
    };
    const body = JSON.stringify(line).replace(`"${quantity}"`, quantity);
    expect(await endpoints.ingest(body)).to.deep.include({ status: 422 });
    expect(await endpoints.taken()).to.equal(before);
  });

  it("should refuse one event_id with two contents by both lines, and send nothing", async () => {
    const before = await endpoints.taken();
    const rows = [
      `event_id,${head}`,
      `twice,${sale("10", "a")}`,
      `,${sale("5", "a")}`,
      `twice,${sale("20", "a")}`,
    ];
    const dry = await run(fileOf(rows));
    expect(dry.code).to.equal(1);
    expect(dry.reported[0]).to.match(/^line 4: line 2 has this event_id .*event_id_conflict/);
    expect(dry.reported).to.include("  transaction.sale 2 rows, 15.00 EUR");
    expect((await apply([fileOf(rows)])).reported.at(-1)).to.match(/^Nothing was sent/);
    expect(await endpoints.taken()).to.equal(before);
  });

  it("should count an event that stands in the file twice once, as the service does", async () => {
    const before = await endpoints.taken();
    const gumroad = (row: string) => row.replace("custom", "gumroad");
    const file = fileOf([
      `event_id,${head}`,
      `again,${sale("10.00", "a")}`,
      `again,${sale("10", "a")}`,
      `again,${gumroad(sale("10", "a"))}`,
    ]);
    const { code, reported } = await apply([file]);
    expect(code).to.equal(0);
    expect(reported).to.include("  transaction.sale 2 rows, 20.00 EUR");
    expect(reported).to.include(
      "1 rows repeat an earlier row with their event_id; it counts once.",
    );
    expect(reported.at(-1)).to.equal("Taken: 2. Known already: 1. Refused: 0.");
    expect((await endpoints.taken()) - before).to.equal(2n);
  });

  it("should say what only the service knows by the line of the file", async () => {
    const identified = [`event_id,${head}`, `import-a,${sale("1", "a")}`];
    expect((await apply([fileOf(identified)])).code).to.equal(0);
    const changed = [
      identified[0] ?? "",
      `import-b,${sale("1", "b")}`,
      `import-a,${sale("2", "a")}`,
    ];
    const { code, reported } = await apply([fileOf(changed)]);
    expect(code).to.equal(1);
    expect(reported.find((line) => line.startsWith("line"))).to.match(
      /^line 3: .*event_id_conflict/,
    );
    expect(reported.at(-1)).to.equal("Taken: 1. Known already: 0. Refused: 1.");
  });

  const refused: [title: string, reported: RegExp, words: () => string[]][] = [
    ["no file", /^npm run import/, () => []],
    ["a missing file", /ENOENT/, () => [join(folder, "none.csv")]],
    ["an empty file", /is empty/, () => [fileOf([], "")]],
    ["an unknown option", /--sheet/, () => [fileOf([head]), "--sheet"]],
    ["both a dry run and not", /^npm run import/, () => ["f", "--apply", "--dry-run"]],
    [
      "an unknown column",
      /unknown column "colour".*Columns are: provider, /,
      () => [fileOf([`${head},colour`])],
    ],
    ["a column a terminal would obey", /"\\u001b\[2J"/, () => [fileOf([`${head},\u001b[2J`])]],
    ["a column twice", /currency appears twice/, () => [fileOf([`${head},currency`])]],
    [
      "a missing column",
      /occurred_at is missing/,
      () => [fileOf(["provider,event_type,amount,currency"])],
    ],
    [
      "columns with semicolons between",
      /add --delimiter ";"$/,
      () => [fileOf([head.replaceAll(",", ";")])],
    ],
    [
      "columns with tabs between",
      /add --delimiter \$'\\t'$/,
      () => [fileOf([`\u{feff}${head.replaceAll(",", "\t")}`])],
    ],
    [
      "columns with commas between where others are reported",
      /add --delimiter ","$/,
      () => [fileOf([head]), "--delimiter", ";"],
    ],
    ["a quote that never ends", /Quote Not Closed/, () => [fileOf([head, '"custom,1'])]],
    ["an address without a scheme", /http:\/\//, () => [fileOf([head]), "--url", "localhost:3000"]],
    ["no key", /needs --key/, () => [fileOf([head]), "--apply"]],
  ];
  for (const [title, reported, words] of refused) {
    it(`should refuse ${title}`, async () => {
      const { code, text } = await run(...words());
      expect(text).to.match(reported);
      expect(code).to.equal(2);
    });
  }

  it("should say where to go on after a refusal, and go on there", async () => {
    const file = fileOf([head, sale("3", "x", "11"), sale("3", "y", "11"), sale("3", "y", "11")]);
    const words = [file, "--apply", "--url", endpoints.base, "--key"];
    const cut = await run(...words, endpoints.readKey);
    expect(cut.code).to.equal(2);
    expect(cut.text).to.match(
      /answered 403: This key is Read-only; .* \(scope_insufficient\)\nSend the file again when/,
    );
    const rest = await apply([file, "--from-line", "4"]);
    expect(rest.reported.at(-1)).to.equal("Taken: 1. Known already: 0. Refused: 0.");
    // The last line is the second of two equal ones, and is known as that.
    const whole = await apply([file]);
    expect(whole.reported.at(-1)).to.equal("Taken: 2. Known already: 1. Refused: 0.");
  });

  it("should end where something else answers, and say where to go on", async () => {
    const bodies = [
      "<html>",
      "{}",
      '{"line":1,"status":"success"}\n{"line":2,"status":"error"}',
      "",
    ];
    const url = await serveHttp("page", (_request, response) => response.end(bodies[0]));
    const file = fileOf([head, sale("4", "p"), sale("4", "q")]);
    while (bodies.length > 0) {
      const { code, text } = await apply([file], url);
      expect(text).to.include(`${url} answered 200: ${bodies[0]}\nSend the file again when`);
      expect(code).to.equal(2);
      bodies.shift();
    }
  });

  it("should send again what the service could not take just then", async () => {
    let calls = 0;
    const url = await serveHttp("busy", (request, response) => {
      calls += 1;
      if (calls === 1) {
        response.writeHead(503, { "retry-after": "0" }).end("busy");
        return;
      }
      const { method, headers, url: path } = request;
      const onward = forward(endpoints.base + path, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    });
    const { reported } = await apply([fileOf([head, sale("4", "again", "12")])], url);
    expect(reported.at(-1)).to.equal("Taken: 1. Known already: 0. Refused: 0.");
    expect(calls).to.equal(2);
  });

  it("should send rows again whose rates are fetched meanwhile, and no others", async () => {
    const sent: number[] = [];
    const url = await serveHttp("late", (request, response) => {
      void linesIn(request).then(async (lines) => {
        sent.push(lines.length);
        // The last line has no rate as long as there are others.
        const known = lines.slice(0, Math.max(1, lines.length - 1));
        const { text } = await endpoints.call("/v1/events/ingest", {
          method: "POST",
          headers: {
            authorization: `Bearer ${endpoints.key}`,
            "content-type": "application/x-ndjson",
          },
          body: known.join("\n"),
        });
        const error = { code: "fx_rate_missing", message: "Try again." };
        const last = `${JSON.stringify({ status: "error", error })}\n`;
        response.end(lines.length > known.length ? text + last : text);
        return null;
      });
    });
    const rows = ["15", "16", "17"].map((day) => sale("4", "late", day));
    const { reported } = await apply([fileOf([head, ...rows])], url);
    expect(reported.at(-1)).to.equal("Taken: 3. Known already: 0. Refused: 0.");
    expect(sent).to.deep.equal([3, 1]);
  });

  it("should send more rows than one call takes, in several", async () => {
    const count = importBatchLinesMax + 2;
    const rows = Array.from({ length: count }, (_, row) => sale("0.01", `c${row}`, "13"));
    const { reported } = await apply([fileOf([head, ...rows])]);
    expect(reported.at(-1)).to.equal(`Taken: ${count}. Known already: 0. Refused: 0.`);
  });

  it("should take semicolons, a byte order mark and texts over several lines", async () => {
    const header = `\u{feff}${head},product_name`.replaceAll(",", ";");
    const row = sale("7", "m", "14").replaceAll(",", ";");
    const file = fileOf([header, `${row};"Poster; large\nand heavy"`]);
    const { code, reported } = await run(file, "--delimiter", ";");
    expect(reported).to.include("  transaction.sale 1 rows, 7.00 EUR");
    expect(code).to.equal(0);
  });

  it("should document every column there is", () => {
    const page = readFileSync(projectFile("docs", "import.md"), "utf8");
    const reported = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect(reported).to.have.ordered.members(columns);
  });
});

describe("Event ids of imported rows", () => {
  const idOf = (ids: EventIds, ...pairs: [string, string][]) => ids.idOf(new Map(pairs));

  it("should not depend on the order of columns, and report equal rows apart", () => {
    const ids = new EventIds();
    const first = idOf(ids, ["amount", "1"], ["currency", "EUR"]);
    const second = idOf(ids, ["currency", "EUR"], ["amount", "1"]);
    expect(second).to.equal(`${first}:2`);
    expect(ids.repeated).to.equal(1);
    expect(idOf(new EventIds(), ["currency", "EUR"], ["amount", "1"])).to.equal(first);
  });

  it("should differ when one cell moves to another column", () => {
    const ids = new EventIds();
    const one = idOf(ids, ["customer_id", "a"], ["product_id", "b"]);
    const other = idOf(ids, ["customer_id", "b"], ["product_id", "a"]);
    expect(one).to.not.equal(other);
  });
});

async function linesIn(request: IncomingMessage): Promise<string[]> {
  return (await textOf(request)).trimEnd().split("\n");
}
