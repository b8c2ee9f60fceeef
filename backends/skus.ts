/**
 * Writes the catalogue: a SKU joins the product of the same slug, once, when it is first named;
 * else it makes one (`definitions.md`, Products). What people changed stays as they left it.
 */
import { productId } from "../schemas/ids.js";
import { slugOf, unattributed } from "../schemas/products.js";
import type { Environment } from "../schemas/records.js";
import { changeCatalogueAlone } from "./catalogue-lock.js";
import { ExpiringCache } from "./expiring-cache.js";
import type { Postgres } from "./postgres.js";

export interface SkuName {
  readonly workspace: string;
  readonly environment: Environment;
  readonly provider: string;
  readonly externalId: string;
}

/** The provider says what a SKU is called. */
export interface NamedSku extends SkuName {
  readonly name: string;
  /** ms since 1970; older news change nothing */
  readonly at: number;
}

export interface Skus {
  /** Gives SKUs met in passing a place: a product of their own until they are named. */
  see(skus: readonly SkuName[]): Promise<void>;
  /** In their order: of two SKUs that are named alike, the second joins the first. */
  name(named: readonly NamedSku[]): Promise<void>;
  /** Today's name of the product a SKU belongs to. */
  productName(sku: SkuName): Promise<string>;
}

/** SKUs known to be in the table, so that each payment does not ask again. */
const seenMax = 100_000;

export function openSkus(postgres: Postgres): Skus {
  const seen = new Set<string>();
  const names = new ExpiringCache({
    ttlMs: namesCachedMs,
    entriesMax: namesCachedMax,
    load: (key) => nameFor(postgres, key),
  });

  async function see(skus: readonly SkuName[]): Promise<void> {
    for (const sku of skus.filter(hasPlace)) {
      const key = keyOf(sku);
      if (seen.has(key)) continue;
      await postgres.transaction(async (sql) => {
        await changeCatalogueAlone(sql, sku.workspace, sku.environment);
        await ensure(sql, sku);
      });
      if (seen.size >= seenMax) seen.clear();
      seen.add(key);
    }
  }

  return {
    see,
    async name(named) {
      for (const sku of withoutRepeats(named.filter(hasPlace))) {
        if (await isCalledSo(postgres, sku)) continue;
        await postgres.transaction(async (sql) => {
          await changeCatalogueAlone(sql, sku.workspace, sku.environment);
          await ensure(sql, sku);
          await rename(sql, sku);
        });
        names.clear();
      }
    },
    async productName(sku) {
      if (sku.externalId === "") return unattributed;
      return (await names.get(keyOf(sku))) ?? sku.externalId;
    },
  };
}

/** A name is asked for with each payment published, and changes once in a while. */
const namesCachedMs = 1_000;
const namesCachedMax = 10_000;

async function nameFor(postgres: Postgres, key: string): Promise<string | null> {
  const [row] = await postgres.query<{ name: string }>(
    `SELECT p.name FROM skus s JOIN products p ON p.id = s.product
     WHERE s.workspace = $1 AND s.environment = $2 AND s.provider = $3 AND s.external_id = $4`,
    key.split(keySeparator),
  );
  return row?.name ?? null;
}

type Sql = Pick<Postgres, "query">;

async function ensure(sql: Sql, sku: SkuName): Promise<void> {
  const [there] = await sql.query(
    `SELECT 1 FROM skus
     WHERE workspace = $1 AND environment = $2 AND provider = $3 AND external_id = $4`,
    values(sku),
  );
  if (there !== undefined) return;
  const id = productId(sku.workspace, sku.environment, sku.provider, sku.externalId);
  await sql.query(
    `INSERT INTO products (id, workspace, environment, name) VALUES ($1, $2, $3, $4)
     ON CONFLICT (id) DO NOTHING`,
    [id, sku.workspace, sku.environment, sku.externalId],
  );
  await sql.query(
    `INSERT INTO skus (workspace, environment, provider, external_id, product)
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
    [...values(sku), id],
  );
}

/**
 * An index of Postgres holds no text of thousands of bytes. No provider's ids are a
 * tenth of it; what a longer one sold shows under it, without a name or a group.
 */
function hasPlace({ externalId }: SkuName): boolean {
  return externalId.length <= externalIdLengthMax;
}

const externalIdLengthMax = 500;

/** Some senders name the SKU in every event: what only says a name again counts once, as newest. */
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

/** Then nothing changes but since when it is known. */
async function isCalledSo(sql: Sql, sku: NamedSku): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE skus SET named_at = greatest(named_at, $6)
     WHERE workspace = $1 AND environment = $2 AND provider = $3 AND external_id = $4 AND name = $5
     RETURNING name`,
    [...values(sku), sku.name, new Date(sku.at)],
  );
  return rows.length > 0;
}

async function rename(sql: Sql, sku: NamedSku): Promise<void> {
  const { name, at } = sku;
  const [row] = await sql.query<{ name: string | null; named_at: Date | null; product: string }>(
    `SELECT name, named_at, product FROM skus
     WHERE workspace = $1 AND environment = $2 AND provider = $3 AND external_id = $4 FOR UPDATE`,
    values(sku),
  );
  if (row === undefined || (row.named_at !== null && row.named_at.getTime() > at)) return;
  await sql.query(
    `UPDATE skus SET name = $5, named_at = $6
     WHERE workspace = $1 AND environment = $2 AND provider = $3 AND external_id = $4`,
    [...values(sku), name, new Date(at)],
  );
  const slug = slugOf(name);
  if (row.name === null && slug !== "") await joinOrMake(sql, sku, row.product, name, slug);
  else if (row.name !== name) await followName(sql, row.product, name);
}

/** First named: the SKU joins the product of that slug, or its own product takes the name. */
async function joinOrMake(
  sql: Sql,
  sku: SkuName,
  own: string,
  name: string,
  slug: string,
): Promise<void> {
  const [namesake] = await sql.query<{ id: string }>(
    "SELECT id FROM products WHERE workspace = $1 AND environment = $2 AND slug = $3",
    [sku.workspace, sku.environment, slug],
  );
  if (namesake === undefined || namesake.id === own) {
    // A person may have named it, or moved other SKUs into it, before the provider did.
    await sql.query(
      `UPDATE products SET name = $2, slug = $3
       WHERE id = $1 AND slug IS NULL AND NOT named_by_person`,
      [own, name, slug],
    );
    return;
  }
  const [touched] = await sql.query<{ named_by_person: boolean; skus: number }>(
    `SELECT named_by_person, (SELECT count(*)::int FROM skus WHERE product = $1) AS skus
     FROM products WHERE id = $1`,
    [own],
  );
  // Only a product that is nothing but this SKU's own place gives way.
  if (touched === undefined || touched.named_by_person || touched.skus !== 1) return;
  await sql.query(
    `UPDATE skus SET product = $5
     WHERE workspace = $1 AND environment = $2 AND provider = $3 AND external_id = $4`,
    [...values(sku), namesake.id],
  );
  await sql.query("DELETE FROM products WHERE id = $1", [own]);
}

/** A product that is one SKU and that no person named goes by the provider's newest name. */
async function followName(sql: Sql, product: string, name: string): Promise<void> {
  await sql.query(
    `UPDATE products SET name = $2
     WHERE id = $1 AND NOT named_by_person
       AND (SELECT count(*) FROM skus WHERE product = $1) = 1`,
    [product, name],
  );
}

function values({ workspace, environment, provider, externalId }: SkuName): string[] {
  return [workspace, environment, provider, externalId];
}

/** Ids hold no NUL: Postgres could not store one (backends/http/strict-json.ts refuses it). */
const keySeparator = "\0";

function keyOf(sku: SkuName): string {
  return values(sku).join(keySeparator);
}
