/** Long answers come from a thread of their own, and are the ones any thread would write. */
import { expect } from "chai";
import { type Ingredients, writeIngredients } from "../../api/answers/answers.js";
import { AnswerWriter } from "../../api/answers/writer.js";
import { largestGroups } from "../../api/reading/groups.js";
import { readSeries } from "../../api/reading/series.js";
import { catalogueOf } from "../../workspaces/catalogue/view.js";
import { limits } from "../../config.js";
import { ApiError } from "../../schemas/http/errors.js";
import { utcDay } from "../../schemas/money/rates.js";
import { rejection } from "../harness/promises.js";

const at = Date.UTC(2026, 0, 1);
const tenYearsMs = 3_650 * 24 * 60 * 60 * 1000;
const moments = { at: new Date(at).toISOString(), complete_to: new Date(at).toISOString() };

describe("a long answer", () => {
  const writer = new AnswerWriter();
  after(() => writer.close());

  for (const format of [null, "csv", "ndjson", "parquet"] as const) {
    it(`should be the same from the thread, as ${format ?? "JSON"}`, async () => {
      const ingredients = daily(["stripe", "paddle"]);
      const here = writeIngredients(ingredients, format, moments);
      const [there, again] = await Promise.all([
        writer.write(ingredients, format, moments),
        writer.write(ingredients, format, moments),
      ]);
      expect(there.table).to.eql(here.table);
      for (const { body } of [there, again])
        expect(Buffer.from(body).equals(here.body)).to.equal(true);
    });
  }

  it("should be refused with the next longer interval when it has too many rows", async () => {
    const currencies = Array.from({ length: 1 + limits.seriesRowsMax / 3_650 }, (_, index) => {
      return `C${index}`;
    });
    const ingredients = daily(currencies, "currency");
    const refused = await rejection(writer.write(ingredients, null, moments));
    if (!(refused instanceof ApiError)) throw refused;
    expect([refused.status, refused.code, refused.param]).to.eql([
      422,
      "series_too_long",
      "interval",
    ]);
    expect(refused.message).to.include("50,000 rows").and.include("interval=week");
  });

  it("should be a 503 when the thread ends, and then come from another", async () => {
    const ingredients = daily(["stripe"]);
    const waiting = rejection(writer.write(ingredients, null, moments));
    await writer.close();
    const lost = await waiting;
    if (!(lost instanceof ApiError)) throw lost;
    expect([lost.status, lost.code]).to.eql([503, "answer_unwritten"]);
    const { body } = await writer.write(ingredients, null, moments);
    expect(JSON.parse(Buffer.from(body).toString())).to.include(moments);
  });
});

/** One movement a day of each group. */
function daily(members: readonly string[], by: "currency" | "provider" = "provider"): Ingredients {
  const asOf = { workspace: "ws_answers", environment: "live", at: at - 1, knownAt: null } as const;
  const series = readSeries({ from: at - tenYearsMs, interval: "day" }, asOf);
  const rows = series.parts.flatMap(({ start }) =>
    members.map((_, index) => ({
      start: utcDay(start),
      kind: "new",
      place: String(index + 1),
      mrr: "1.005",
      accounts: "1",
    })),
  );
  const groups = largestGroups(
    by,
    members.map((member) => ({ member, size: "1" })),
    members.length,
    catalogueOf([], asOf.workspace, asOf.environment),
  );
  return {
    answer: "movementsAnswer",
    asked: { sums: rows.map((row) => JSON.stringify(row)).join("\n"), series, groups },
    compared: undefined,
    hasWholeAccounts: true,
    currency: "EUR",
    definition: null,
  };
}
