/** Long answers come from a thread of their own, and are the ones any thread would write. */
import { expect } from "chai";
import { type Ingredients, writeIngredients } from "../../api/answers/answers.js";
import { AnswerWriter } from "../../api/answers/writer.js";
import { readSeries } from "../../api/reading/series.js";
import { catalogueOf } from "../../catalogue/view.js";
import { limits } from "../../config.js";
import { ApiError } from "../../http/errors.js";
import { utcDay } from "../../schemas/money/rates.js";
import { rejection } from "../harness/promises.js";

const at = Date.UTC(2026, 0, 1);
const tenYearsMs = 3_650 * 24 * 60 * 60 * 1000;
const completeTo = new Date(at).toISOString();

describe("a long answer", () => {
  const writer = new AnswerWriter();
  after(() => writer.close());

  for (const format of [null, "csv", "ndjson", "parquet"] as const) {
    it(`should be the same from the thread, as ${format ?? "JSON"}`, async () => {
      const ingredients = daily(["stripe", "paddle"]);
      const here = writeIngredients(ingredients, format, completeTo);
      const [there, again] = await Promise.all([
        writer.write(ingredients, format, completeTo),
        writer.write(ingredients, format, completeTo),
      ]);
      expect(there.table).to.eql(here.table);
      for (const { body } of [there, again])
        expect(Buffer.from(body).equals(here.body)).to.equal(true);
    });
  }

  it("should be refused with the next longer interval when it has too many rows", async () => {
    const groups = Array.from({ length: 1 + limits.seriesRowsMax / 3_650 }, (_, index) => {
      return `C${index}`;
    });
    const ingredients = { ...daily(groups, "currency"), group: "currency" } as const;
    const refused = await rejection(writer.write(ingredients, null, completeTo));
    if (!(refused instanceof ApiError)) throw refused;
    expect([refused.status, refused.code, refused.param]).to.eql([
      422,
      "series_too_long",
      "interval",
    ]);
    expect(refused.message).to.include("50,000 rows").and.include("interval=week");
  });

  it("should be a 503 for those it waits for when the thread ends, and then come from another", async () => {
    const ingredients = daily(["stripe"]);
    const waiting = rejection(writer.write(ingredients, null, completeTo));
    await writer.close();
    const lost = await waiting;
    if (!(lost instanceof ApiError)) throw lost;
    expect([lost.status, lost.code]).to.eql([503, "answer_unwritten"]);
    const { body } = await writer.write(ingredients, null, completeTo);
    expect(JSON.parse(Buffer.from(body).toString())).to.have.property("complete_to", completeTo);
  });
});

/** One movement a day of each group. */
function daily(groups: readonly string[], column = "provider"): Ingredients {
  const asOf = { workspace: "ws_answers", environment: "live", at: at - 1, knownAt: null } as const;
  const series = readSeries({ from: at - tenYearsMs, interval: "day" }, asOf);
  const rows = series.parts.flatMap(({ start }) =>
    groups.map((group) => ({
      start: utcDay(start),
      kind: "new",
      [column]: group,
      mrr: "1.005",
      accounts: "1",
    })),
  );
  return {
    answer: "movementsAnswer",
    sums: rows.map((row) => JSON.stringify(row)).join("\n"),
    series,
    hasWholeAccounts: true,
    group: "provider",
    catalogue: catalogueOf([], asOf.workspace, asOf.environment).contents,
    currency: "EUR",
  };
}
