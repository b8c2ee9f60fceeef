/**
 * Writes the catalogue: a SKU joins the product of the same slug, once, when it is first named;
 * else it makes one (`definitions.md`, Products). People's changes stay.
 */
import { unattributed } from "../../schemas/products.js";
import { AskedTogether } from "../../runtime/batch-loader.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { chunksBySize, grouped } from "../../runtime/lists.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import {
  giveMissingPlaces,
  isSameSku,
  keyOf,
  keySeparator,
  renameLocked,
  type NamedSku,
  type SkuName,
  skuOf,
  skuRows,
  timeText,
  reportedAs,
} from "./sku-names.js";
import type { Environment } from "../../schemas/records/records.js";
import { News } from "../../runtime/lookout.js";

export type { NamedSku, SkuName } from "./sku-names.js";

export type Skus = ReturnType<typeof openSkus>;

/** SKUs known to be in the table, so that payments do not ask again. */
const seenMax = 100_000;
/**
 * In one statement, which costs hardly more than one about a single SKU: whoever reports thousands
 * must not hold up others. A few ms of the embedded engine.
 */
const skusAtOnce = 250;
/** A name is needed for each published payment, and changes rarely. */
const revisionsCachedMs = 1_000;
const namesCachedMs = 60_000;
const namesCachedMax = 10_000;
const cataloguesMax = 10_000;

export function openSkus(postgres: Postgres) {
  const seen = new Set<string>();
  const asked = new AskedTogether(skusAtOnce, (keys: readonly string[]) =>
    namesFor(postgres, keys),
  );
  const names = new ExpiringCache({
    ttlMs: namesCachedMs,
    entriesMax: namesCachedMax,
    load: (key) => asked.ask(key),
  });
  /** The catalogues whose names are cached; one query reads the revisions of all. */
  const catalogues = new Set<string>();
  const revisions = new ExpiringCache({
    ttlMs: revisionsCachedMs,
    entriesMax: 1,
    load: () => readRevisions(postgres, [...catalogues]),
  });

  /** Undefined: it was never changed, or is no longer among them. */
  async function revisionOf({ workspace, environment }: SkuName): Promise<bigint | undefined> {
    const name = catalogueName(workspace, environment);
    if (!catalogues.has(name)) {
      if (catalogues.size >= cataloguesMax) catalogues.clear();
      catalogues.add(name);
      revisions.clear();
    }
    return (await revisions.get("")).get(name);
  }

  return {
    /** Gives unnamed SKUs a product of their own until they are named. */
    async see(skus: readonly SkuName[]): Promise<void> {
      const byKey = new Map(skus.filter(hasPlace).map((sku) => [keyOf(sku), sku]));
      const unseen = [...byKey].filter(([key]) => !seen.has(key)).map(([, sku]) => sku);
      for (const some of partsOf(unseen)) {
        for (const own of byCatalogue(await withoutPlace(postgres, some))) {
          await changeLocked(postgres, own, giveMissingPlaces);
        }
        if (seen.size + some.length > seenMax) seen.clear();
        for (const sku of some) seen.add(keyOf(sku));
      }
    },
    /** In order: of two SKUs with equal names, the second joins the first. */
    async name(named: readonly NamedSku[]): Promise<void> {
      for (const some of partsOf(withoutRepeats(named.filter(hasPlace)))) {
        for (const own of byCatalogue(await notCalledSo(postgres, some))) {
          await changeLocked(postgres, own, renameLocked);
          revisions.clear();
        }
      }
    },
    /** Today's name of the product a SKU belongs to. */
    async productName(sku: SkuName): Promise<string> {
      if (sku.externalId === "") return unattributed;
      // The revision is read before the name: after a change the name has another key.
      const key = keyOf(sku);
      const revision = await revisionOf(sku);
      const isKept = revision !== undefined;
      const name = isKept ? names.get(`${key}${keySeparator}${revision}`) : asked.ask(key);
      return (await name) ?? sku.externalId;
    },
  };
}

async function changeLocked<One extends SkuName>(
  postgres: Postgres,
  skus: readonly One[],
  change: (sql: Sql, skus: readonly One[]) => Promise<void>,
): Promise<void> {
  const [first] = skus;
  if (first === undefined) return;
  await postgres.transaction(async (sql) => {
    await lockCatalogue(sql, first.workspace, first.environment);
    await change(sql, skus);
  });
  catalogueNews.announce();
}

/** @param keys by `keyOf`, whatever follows it. Null: the SKU has no place */
async function namesFor(
  sql: Sql,
  keys: readonly string[],
): Promise<(key: string) => string | null> {
  const rows = await sql.query<{ place: bigint; name: string }>(
    `SELECT t.place, p.name FROM ${skuRows()} JOIN skus s ON ${isSameSku}
     JOIN products p ON p.id = s.product`,
    reportedAs(keys.map(skuOf)),
  );
  const names = new Map(rows.map(({ place, name }) => [keys[Number(place) - 1], name]));
  return (key) => names.get(key) ?? null;
}

async function withoutPlace(sql: Sql, skus: readonly SkuName[]): Promise<SkuName[]> {
  const rows = await sql.query<{ place: bigint }>(
    `SELECT t.place FROM ${skuRows()} JOIN skus s ON ${isSameSku}`,
    reportedAs(skus),
  );
  const placed = new Set(rows.map(({ place }) => Number(place)));
  return skus.filter((_, index) => !placed.has(index + 1));
}

/**
 * Leaves out SKUs that have the name already, of which only the time changes. Rows that another
 * process is changing are skipped without waiting, so that no two processes wait for each other. A
 * SKU with several names in the batch goes through them in order.
 */
async function notCalledSo(sql: Sql, named: readonly NamedSku[]): Promise<NamedSku[]> {
  const times = grouped(named, keyOf);
  const once = named.filter((sku) => times.get(keyOf(sku))?.length === 1);
  const rows = await sql.query<{ place: bigint }>(
    `WITH called AS (
       SELECT t.place, t.at, s.workspace, s.environment, s.provider, s.external_id
       FROM ${skuRows("name", "at")} JOIN skus s ON ${isSameSku} AND s.name = t.name
       FOR UPDATE OF s SKIP LOCKED
     )
     UPDATE skus s SET named_at = greatest(s.named_at, t.at::timestamptz)
     FROM called t WHERE ${isSameSku} RETURNING t.place`,
    [...reportedAs(once), once.map(({ name }) => name), once.map(({ at }) => timeText(at))],
  );
  const called = new Set(rows.map(({ place }) => once[Number(place) - 1]));
  return named.filter((sku) => !called.has(sku));
}

/**
 * An index of Postgres holds no text of thousands of bytes. No provider's ids come near; a longer
 * one appears under itself, without a name or a group.
 */
function hasPlace({ externalId }: SkuName): boolean {
  return externalId.length <= externalIdLengthMax;
}

const externalIdLengthMax = 500;

/** Some senders name the SKU in every event: of equal names the newest counts. */
function withoutRepeats(named: readonly NamedSku[]): NamedSku[] {
  const kept: NamedSku[] = [];
  const lastOf = new Map<string, number>();
  for (const sku of named) {
    const index = lastOf.get(keyOf(sku));
    const last = index === undefined ? undefined : kept[index];
    if (index !== undefined && last?.name === sku.name) {
      kept[index] = { ...last, at: Math.max(last.at, sku.at) };
    } else {
      lastOf.set(keyOf(sku), kept.push(sku) - 1);
    }
  }
  return kept;
}

function partsOf<One>(skus: readonly One[]): Iterable<One[]> {
  return chunksBySize(skus, skusAtOnce, () => 1);
}

function byCatalogue<One extends SkuName>(skus: readonly One[]): Iterable<One[]> {
  return grouped(skus, ({ workspace, environment }) => `${workspace} ${environment}`).values();
}

// One process at a time changes which SKUs belong to which products.

export const catalogueNews = new News();

/**
 * Without a lock, two processes that name equal SKUs at once would each make a product of that
 * slug; one that meets a SKU while another names it would make an empty product; and two people
 * could undo each other's merges. The lock lasts for the rest of the transaction; what was read
 * before it may be old. The new revision becomes visible with the change.
 */
export async function lockCatalogue(
  sql: Sql,
  workspace: string,
  environment: Environment,
): Promise<void> {
  await sql.query(
    `INSERT INTO catalogue_revisions AS c (name, revision) VALUES ($1, 1)
     ON CONFLICT (name) DO UPDATE SET revision = c.revision + 1`,
    [catalogueName(workspace, environment)],
  );
}

export function catalogueName(workspace: string, environment: Environment): string {
  return `${workspace} ${environment}`;
}

/** By name; a catalogue that never changed has none. */
export async function readRevisions(
  sql: Sql,
  names: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await sql.query<{ name: string; revision: bigint }>(
    "SELECT name, revision FROM catalogue_revisions WHERE name = ANY ($1::text[])",
    [names],
  );
  return new Map(rows.map(({ name, revision }) => [name, revision]));
}
