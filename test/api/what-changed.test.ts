/** What made MRR another between two moments: small tables to check by hand. */
import { expect } from "chai";
import { type WhatChangedAnswer, whatChangedAnswer } from "../../api/what-changed/schema.js";
import { type Endpoints, itRefuses, openEndpoints } from "../harness/endpoints.js";
import { movementsIn } from "../harness/movement-table.js";
import { insertMovements } from "../harness/query-rows.js";

const path = "/v1/metrics/mrr/what-changed";
/** Two accounts before October; in it one leaves, one comes, and one goes to another product. */
const story = `
  at               | account | kind        | mrr     | accounts | provider | sku | currency
  2026-09-10       | stays   | new         |  40.000 |        1 | stripe   | a   | EUR
  2026-09-20       | leaves  | new         |  20.004 |        1 | apple    | b   | USD
  2026-10-01       | comes   | new         |  10.004 |        1 | stripe   | a   | EUR
  2026-10-05       | stays   | switch      | -40.000 |        0 | stripe   | a   | EUR
  2026-10-05       | stays   | switch      |  40.000 |        0 | stripe   | b   | EUR
  2026-10-05       | stays   | expansion   |  15.000 |        0 | stripe   | b   | EUR
  2026-10-31 23:59 | leaves  | churn       | -20.004 |       -1 | apple    | b   | USD
  2026-11-01       | late    | new         |   7.000 |        1 | stripe   | a   | EUR
`;
const october = { from: "2026-10-01", to: "2026-11-01" };

describe("GET /v1/metrics/mrr/what-changed", () => {
  let endpoints: Endpoints;
  beforeEach(async () => {
    endpoints = await openEndpoints();
    await insertMovements(endpoints.service.clickhouse, endpoints.tenant, movementsIn(story));
  });

  async function ask(query: Readonly<Record<string, string>>): Promise<WhatChangedAnswer["data"]> {
    const answer = await endpoints.get(`${path}?${new URLSearchParams(query).toString()}`);
    expect(answer.status, answer.text).to.equal(200);
    return whatChangedAnswer.parse(answer.json).data;
  }

  it("should lead from one balance to the other, the largest differences first", async () => {
    const data = await ask(october);
    expect(data.from).to.deep.equal({ at: "2026-10-01T00:00:00.000Z", mrr: 60 });
    expect(data.to).to.deep.equal({ at: "2026-11-01T00:00:00.000Z", mrr: 65 });
    expect(data.difference).to.equal(5);
    expect(data.kinds).to.deep.equal({
      new_mrr: 10,
      expansion_mrr: 15,
      contraction_mrr: 0,
      churn_mrr: -20,
      reactivation_mrr: 0,
      switch_mrr: 0,
    });
    const rows = data.rows.map((row) => [row.account, row.provider, row.difference, row.movements]);
    expect(rows).to.deep.equal([
      ["leaves", "apple", -20, 1],
      ["stays", "stripe", 15, 3],
      ["comes", "stripe", 10, 1],
    ]);
    expect(data.others).to.deep.equal({ count: 0, difference: 0 });
  });

  it("should add up what it has no room for", async () => {
    const { rows, others, difference } = await ask({ ...october, limit: "1" });
    expect(rows.map((row) => row.difference)).to.deep.equal([-20]);
    expect(others).to.deep.equal({ count: 2, difference: 25 });
    expect(difference).to.equal(5);
  });

  it("should group by provider, country and product, and show a switch in a part", async () => {
    const named = async (by: string) =>
      (await ask({ ...october, by })).rows.map((row) => [
        row.provider ?? row.country ?? row.product_name,
        row.difference,
        row.kinds.switch_mrr,
      ]);
    expect(await named("provider")).to.deep.equal([
      ["stripe", 25, 0],
      ["apple", -20, 0],
    ]);
    expect(await named("country")).to.deep.equal([["US", 5, 0]]);
    expect((await named("product")).map(([, ...figures]) => figures)).to.deep.equal([
      [55, 40],
      [-30, -40],
      [-20, 0],
    ]);
    const { rows } = await ask({ ...october, provider: "stripe" });
    expect(rows.map((row) => row.account)).to.deep.equal(["stays", "comes"]);
  });

  it("should count what was known then", async () => {
    const { rows, difference } = await ask({ ...october, known_at: "2026-10-10T00:00:00Z" });
    expect(rows.map((row) => row.account)).to.deep.equal(["stays", "comes"]);
    expect(difference).to.equal(25.01);
  });

  describe("refusing", () => {
    itRefuses(
      (asked) => endpoints.get(asked),
      [
        [path, 400, "parameter_invalid", "from"],
        [`${path}?from=2026-10-02&to=2026-10-01`, 422, "range_backwards", "from"],
        [`${path}?from=2026-10-01&to=2999-01-01`, 422, "moment_in_future", "to"],
        [`${path}?from=2026-10-01&by=currency`, 400, "parameter_invalid", "by"],
        [`${path}?from=2026-10-01&limit=201`, 400, "parameter_invalid", "limit"],
      ],
    );
  });
});
