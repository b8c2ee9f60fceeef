/** What SKUs are called, and which of them are one product by it (`definitions.md`, Products). */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import {
  changeProduct,
  listProducts,
  type ProductRecord,
} from "../../workspaces/catalogue/edits.js";
import { openCatalogueView } from "../../workspaces/catalogue/view.js";
import { openStoredObjects } from "../../providers/api/stored-objects.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { type SkuName, type Skus, openSkus } from "../../workspaces/catalogue/skus.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { slugOf } from "../../schemas/products.js";
import { openTestPostgres } from "../harness/stores.js";

describe("slugs of names", () => {
  const slugs: readonly (readonly [name: string, slug: string])[] = [
    ["Pro Plan (2024)", "pro-plan-2024"],
    ["  pro -- PLAN, 2024!", "pro-plan-2024"],
    ["Café Über", "cafe-uber"],
    ["İstanbul", "istanbul"],
    ["ﬁne", "fine"],
    ["ハグ", "ハグ"],
    ["バグ", "バグ"],
    ["मासिक", "मासिक"],
    ["मसिक", "मसिक"],
    ["Мой план", "мой-план"],
    ["한국어", "한국어"],
    ["❤️ Plan 3️⃣", "plan-3"],
    ["🚀", ""],
    ["❤️", ""],
  ];
  for (const [name, slug] of slugs) {
    it(`should make ${JSON.stringify(slug)} of ${JSON.stringify(name)}`, () => {
      expect(slugOf(name)).to.equal(slug.normalize("NFC"));
      // However the name's letters are composed.
      expect(slugOf(name.normalize("NFD"))).to.equal(slug.normalize("NFC"));
    });
  }

  it("should keep long names apart in a slug of bounded length", () => {
    const slug = slugOf(`${"𝔘ber ".repeat(1_000)}one`);
    expect(slug).to.match(/^uber-uber-/);
    expect(slug.length).to.be.at.most(200);
    expect(slugOf(`${"𝔘ber ".repeat(1_000)}two`)).to.not.equal(slug);
  });
});

describe("Names of SKUs", () => {
  let postgres: Postgres;
  let skus: Skus;
  let workspace: string;
  before(async () => {
    postgres = await openTestPostgres();
  });
  beforeEach(async () => {
    skus = openSkus(postgres);
    const given = { name: "SKUs", base_currency: "USD" } as const;
    ({ id: workspace } = await createWorkspace(postgres, given, new Date()));
  });

  it("should be one product of SKUs that two processes name alike at once", async () => {
    const other = openSkus(postgres);
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    await Promise.all(
      numbers.flatMap((number) => [
        skus.name([named(`a_${number}`, `Plan ${number}`)]),
        other.name([named(`b_${number}`, `Plan ${number}`)]),
      ]),
    );
    const found = Object.entries(await products()).map(([name, ids]) => [name, ids.toSorted()]);
    const wanted = numbers.map((number) => [`Plan ${number}`, [`a_${number}`, `b_${number}`]]);
    expect(found).to.have.deep.members(wanted);
  });

  it("should be where the last of two people put them, who saw the same before", async () => {
    await skus.name(["a", "b", "c", "d"].map((id) => named(id, id.toUpperCase())));
    const [product, place] = [await productOf("a"), await productOf("d")];
    const one = (externalId: string) => ({
      provider: "custom" as const,
      external_id: externalId,
    });
    await changeProduct(postgres, workspace, product, { skus: ["a", "b", "c"].map(one) });
    const seen = await productOf("a");
    // While the second looked at it, the first took c out and put d in, and named c's own product.
    await changeProduct(postgres, workspace, seen, { skus: ["a", "b", "d"].map(one) });
    await changeProduct(postgres, workspace, await productOf("c"), { name: "Third" });
    const changed = await changeProduct(postgres, workspace, seen, { skus: ["a", "b"].map(one) });
    expect(changed?.skus).to.deep.equal(["a", "b"].map(one));
    expect(await products()).to.deep.equal({ A: ["a", "b"], Third: ["c"], D: ["d"] });
    // It lost its last SKU to the first, so it is there no more.
    expect(await changeProduct(postgres, workspace, place, { name: "Fourth" })).to.equal(null);
  });

  async function productOf(externalId: string): Promise<ProductRecord> {
    const page = { rowsMax: 100, after: null };
    const rows = await listProducts(postgres, workspace, null, page);
    const found = rows.find((row) => row.skus.some((one) => one.external_id === externalId));
    if (found === undefined) throw new Error(`${externalId} is in no product`);
    return found;
  }

  it("should leave no empty product where one process meets a SKU another names", async () => {
    const numbers = Array.from({ length: 20 }, (_, number) => number);
    await skus.name(numbers.map((number) => named(`first_${number}`, `Met ${number}`)));
    for (const number of numbers) {
      const reported = named(`second_${number}`, `Met ${number}`);
      // Some of them amid what the naming does in Postgres.
      const meeting = Array.from({ length: 5 }, async (_, ms) => {
        await pause(ms);
        await openSkus(postgres).see([reported]);
      });
      await Promise.all([skus.name([reported]), ...meeting]);
    }
    const found = Object.entries(await products()).map(([name, ids]) => [name, ids.toSorted()]);
    const wanted = numbers.map((number) => [
      `Met ${number}`,
      [`first_${number}`, `second_${number}`],
    ]);
    expect(found).to.have.deep.members(wanted);
  });

  const sku = (externalId: string): SkuName => ({
    workspace,
    environment: "live",
    provider: "custom",
    externalId,
  });
  const named = (externalId: string, name: string, at = 0) => ({ ...sku(externalId), name, at });
  /** Each product with its SKUs, as the figures show them. */
  const products = async () => {
    const { products: shown } = await openCatalogueView(postgres).of(workspace, "live");
    return Object.fromEntries(
      shown.map((each) => [each.name, each.skus.map(({ externalId }) => externalId)]),
    );
  };

  it("should join what is called alike, and nothing else", async () => {
    await skus.name([
      named("hug", "ハグ"),
      named("bug", "バグ"),
      named("cafe", "Café"),
      named("cafe-2", "CAFE"),
    ]);
    expect(await products()).to.deep.equal({
      ハグ: ["hug"],
      バグ: ["bug"],
      Café: ["cafe", "cafe-2"],
    });
  });

  it("should take names of any length and names without letters, and go on", async () => {
    const long = Array.from({ length: 4_000 }, (_, index) => index.toString(36)).join("");
    await skus.name([
      named("long", long),
      named("rocket", "🚀"),
      named("fire", "🔥"),
      named("plain", "Plain"),
    ]);
    expect(await products()).to.deep.equal({
      [long]: ["long"],
      "🚀": ["rocket"],
      "🔥": ["fire"],
      Plain: ["plain"],
    });
    const { products: shown } = await openCatalogueView(postgres).of(workspace, "live");
    for (const { slug } of shown) expect(slug).to.not.equal("");
  });

  it("should leave out what has an id of thousands of characters, and go on", async () => {
    const long = Array.from({ length: 4_000 }, (_, index) => index.toString(36)).join("");
    await skus.see([sku(long), sku("a")]);
    await skus.name([named(long, "Endless"), named("b", "Short")]);
    expect(await products()).to.deep.equal({ a: ["a"], Short: ["b"] });
    const object = { id: long, reportedAt: 0, refers: [], object: {} };
    const place = { workspace, environment: "live", provider: "stripe" } as const;
    const scope = { ...place, integration: null };
    const objects = openStoredObjects(postgres);
    expect(await objects.keep(scope, [object, { ...object, id: "short" }])).to.equal(true);
    expect([...(await objects.recall(scope, [long, "short"])).keys()]).to.deep.equal(["short"]);
  });

  it("should go by the newest news, reported in one batch, in several or again", async () => {
    const news = [
      named("a", "First", 1),
      named("b", "Other", 1),
      named("a", "First", 5),
      // Older than what is known.
      named("a", "Second", 4),
      named("b", "Newer", 9),
      named("b", "Newer", 2),
    ];
    await skus.name(news);
    expect(await products()).to.deep.equal({ First: ["a"], Newer: ["b"] });
    for (const each of news) await skus.name([each]);
    expect(await products()).to.deep.equal({ First: ["a"], Newer: ["b"] });
    await skus.name([named("a", "Second", 6)]);
    expect(await products()).to.deep.equal({ Second: ["a"], Newer: ["b"] });
  });

  const grouped = async (of: string) => {
    const { products: shown } = await openCatalogueView(postgres).of(of, "live");
    return shown.map(({ name, skus: own }) => [name, own.map((one) => one.externalId).toSorted()]);
  };

  it("should be what they are one by one, reported many at a time", async () => {
    const draw = drawn(20_261_122);
    for (let round = 0; round < 10; round += 1) {
      const own = async () => {
        const given = { name: "SKUs", base_currency: "USD" } as const;
        return (await createWorkspace(postgres, given, new Date())).id;
      };
      const [together, apart] = [await own(), await own()];
      const news = Array.from({ length: 60 }, () =>
        named(`sku_${draw(25)}`, `${draw(2) ? "Plan" : "plan!"} ${draw(8) || "🚀"}`, draw(4)),
      );
      for (const [from, to] of [
        [0, 30],
        [30, 60],
      ]) {
        await skus.name(news.slice(from, to).map((one) => ({ ...one, workspace: together })));
      }
      for (const one of news) await skus.name([{ ...one, workspace: apart }]);
      expect(await grouped(together)).to.have.deep.members(await grouped(apart));
    }
  });

  it("should be read on news of a change, seldom where they are many", async () => {
    let statements = 0;
    let now = 0;
    const counted = counting(postgres, () => (statements += 1));
    const catalogues = openCatalogueView(counted, true, () => now);
    const many = Array.from({ length: 3_000 }, (_, index) => sku(`many_${index}`));
    const few = { ...sku("few"), environment: "test" } as const;
    await skus.see([...many, few]);
    const statementsAt = async (environment: "live" | "test", at: number) => {
      now = at;
      statements = 0;
      await catalogues.of(workspace, environment);
      return statements;
    };
    const [nothing, revisions, catalogue] = [0, 1, 2];
    expect(await statementsAt("live", 0)).to.equal(catalogue);
    expect(await statementsAt("test", 0)).to.equal(catalogue);
    expect(await statementsAt("test", 199)).to.equal(nothing);
    expect(await statementsAt("test", 201)).to.equal(revisions);
    await skus.see([sku("another"), { ...few, externalId: "another" }]);
    expect(await statementsAt("test", 402)).to.equal(revisions + catalogue);
    expect(await statementsAt("live", 402)).to.equal(nothing);
    expect(await statementsAt("live", 603)).to.equal(revisions + catalogue);
    catalogues.forget();
    expect(await statementsAt("live", 603)).to.equal(catalogue);
    expect(await statementsAt("live", 5_602)).to.equal(nothing);
    expect(await statementsAt("live", 5_804)).to.equal(revisions + catalogue);
  });

  it("should cost a few statements, however many are reported at a time", async () => {
    let statements = 0;
    const counted = openSkus(counting(postgres, () => (statements += 1)));
    const ids = Array.from({ length: 200 }, (_, index) => `many_${index}`);
    await counted.see(ids.map((externalId) => named(externalId, "")));
    await counted.name(ids.map((id) => named(id, `Called ${id}`, 1)));
    await counted.name(ids.map((id) => named(id, `Called ${id}`, 2)));
    await counted.name(ids.map((id) => named(id, `Now ${id}`, 3)));
    const names = await Promise.all(ids.map((id) => counted.productName(named(id, ""))));
    expect(names).to.deep.equal(ids.map((id) => `Now ${id}`));
    expect(statements).to.be.at.most(25);
  });
});

/** Numbers below what is asked for, the same in each run. */
function drawn(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function counting(postgres: Postgres, count: () => void): Postgres {
  const counted = (sql: Sql): Sql => ({
    query: (text, given) => {
      count();
      return sql.query(text, given);
    },
  });
  return {
    ...counted(postgres),
    transaction: (run, options) => postgres.transaction((sql) => run(counted(sql)), options),
    close: () => postgres.close(),
  };
}
