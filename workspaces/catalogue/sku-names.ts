/**
 * Names many SKUs of one catalogue at once. Each step depends on the ones before, so the rules run
 * over what is read once and written once. The caller holds the catalogue's lock (skus.ts).
 */
import { productId } from "../../schemas/ids.js";
import { slugOf } from "../../schemas/products.js";
import type { Tenant } from "../../schemas/records/records.js";
import type { Sql } from "../../stores/postgres/postgres.js";

export interface SkuName extends Tenant {
  readonly provider: string;
  readonly externalId: string;
}

export interface NamedSku extends SkuName {
  readonly name: string;
  /** ms since 1970; older names change nothing */
  readonly at: number;
}

/**
 * SKUs as a table, by `reportedAs` and a value of each further column. Not as JSON: Postgres cannot
 * estimate its rows, and would read the whole table to find one.
 */
export function skuRows(...columns: readonly string[]): string {
  const all = ["workspace", "environment", "provider", "external_id", ...columns];
  const arrays = all.map((_, index) => `$${index + 1}::text[]`).join(", ");
  return `unnest(${arrays}) WITH ORDINALITY AS t (${all.join(", ")}, place)`;
}

export function reportedAs(skus: readonly SkuName[]): string[][] {
  return [
    skus.map(({ workspace }) => workspace),
    skus.map(({ environment }) => environment),
    skus.map(({ provider }) => provider),
    skus.map(({ externalId }) => externalId),
  ];
}

export const isSameSku = `s.workspace = t.workspace AND s.environment = t.environment
  AND s.provider = t.provider AND s.external_id = t.external_id`;

/** Makes a product for each SKU that has none. */
export async function giveMissingPlaces(sql: Sql, skus: readonly SkuName[]): Promise<void> {
  const missing = `FROM ${skuRows("product")}
    WHERE NOT EXISTS (SELECT 1 FROM skus s WHERE ${isSameSku})`;
  const reported = [...reportedAs(skus), skus.map(ownProduct)];
  await sql.query(
    `INSERT INTO products (id, workspace, environment, name)
     SELECT DISTINCT product, workspace, environment, external_id ${missing}
     ON CONFLICT (id) DO NOTHING`,
    reported,
  );
  await sql.query(
    `INSERT INTO skus (workspace, environment, provider, external_id, product)
     SELECT DISTINCT workspace, environment, provider, external_id, product ${missing}
     ON CONFLICT DO NOTHING`,
    reported,
  );
}

/** @param at ms since 1970 */
export function timeText(at: number): string {
  return new Date(at).toISOString();
}

function ownProduct(sku: SkuName): string {
  return productId(sku.workspace, sku.environment, sku.provider, sku.externalId);
}

interface Product {
  readonly id: string;
  name: string;
  slug: string | null;
  readonly namedByPerson: boolean;
  skus: number;
}

interface PlaceRow extends SkuName {
  readonly name: string | null;
  readonly namedAt: Date | null;
  readonly product: string;
}

interface Place extends SkuName {
  name: string | null;
  /** ms since 1970 */
  at: number;
  product: Product;
}

/** @param named of one catalogue */
export async function renameLocked(sql: Sql, named: readonly NamedSku[]): Promise<void> {
  let catalogue = await Names.read(sql, named);
  if (!catalogue.hasAll(named)) {
    await giveMissingPlaces(sql, named);
    catalogue = await Names.read(sql, named);
  }
  for (const sku of named) catalogue.name(sku);
  await catalogue.write(sql);
}

/** The SKUs and products of a catalogue that are needed to name some SKUs. */
class Names {
  readonly #places = new Map<string, Place>();
  readonly #bySlug = new Map<string, Product>();
  readonly #renamed = new Set<Product>();
  readonly #gone = new Set<Product>();

  static async read(sql: Sql, named: readonly NamedSku[]): Promise<Names> {
    const rows = await sql.query<PlaceRow>(
      `SELECT s.workspace, s.environment, s.provider, s.external_id AS "externalId", s.name,
         s.named_at AS "namedAt", s.product
       FROM ${skuRows()} JOIN skus s ON ${isSameSku} FOR UPDATE OF s`,
      reportedAs(named),
    );
    const [first] = named;
    const products = await sql.query<Product>(
      `SELECT id, name, slug, named_by_person AS "namedByPerson",
         (SELECT count(*)::int FROM skus WHERE product = p.id) AS skus
       FROM products p
       WHERE id = ANY ($3::text[])
         OR workspace = $1 AND environment = $2 AND slug = ANY ($4::text[])`,
      [
        first?.workspace,
        first?.environment,
        rows.map(({ product }) => product),
        named.map(({ name }) => slugOf(name)),
      ],
    );
    return new Names(rows, products);
  }

  private constructor(rows: readonly PlaceRow[], products: readonly Product[]) {
    for (const product of products) {
      if (product.slug !== null) this.#bySlug.set(product.slug, product);
    }
    const byId = new Map(products.map((product) => [product.id, product]));
    for (const row of rows) {
      const product = byId.get(row.product);
      if (product === undefined) continue;
      const at = row.namedAt?.getTime() ?? Number.NEGATIVE_INFINITY;
      this.#places.set(keyOf(row), { ...row, at, product });
    }
  }

  hasAll(skus: readonly SkuName[]): boolean {
    return skus.every((sku) => this.#places.has(keyOf(sku)));
  }

  name(sku: NamedSku): void {
    const place = this.#places.get(keyOf(sku));
    if (place === undefined || place.at > sku.at) return;
    const { name: before, product } = place;
    place.name = sku.name;
    place.at = sku.at;
    const slug = slugOf(sku.name);
    if (before === null && slug !== "") this.#joinOrMake(place, sku.name, slug);
    else if (before !== sku.name) this.#followName(product, sku.name);
  }

  /**
   * When first named, the SKU joins the product of that slug, or its own product takes the name.
   */
  #joinOrMake(place: Place, name: string, slug: string): void {
    const own = place.product;
    const namesake = this.#bySlug.get(slug);
    if (namesake === undefined || namesake === own) {
      // A person may have named it, or moved other SKUs into it, before the provider did.
      if (own.slug !== null || own.namedByPerson) return;
      own.name = name;
      own.slug = slug;
      this.#bySlug.set(slug, own);
      this.#renamed.add(own);
      return;
    }
    // Only a product that consists of this SKU alone is merged.
    if (own.namedByPerson || own.skus !== 1) return;
    place.product = namesake;
    namesake.skus += 1;
    if (own.slug !== null) this.#bySlug.delete(own.slug);
    this.#gone.add(own);
  }

  /** A product of one SKU that no person named takes the provider's newest name. */
  #followName(product: Product, name: string): void {
    if (product.namedByPerson || product.skus !== 1) return;
    product.name = name;
    this.#renamed.add(product);
  }

  async write(sql: Sql): Promise<void> {
    const places = [...this.#places.values()].filter(({ name }) => name !== null);
    await sql.query(
      `UPDATE skus s SET name = t.name, named_at = t.at::timestamptz, product = t.product
       FROM ${skuRows("name", "at", "product")} WHERE ${isSameSku}`,
      [
        ...reportedAs(places),
        places.map(({ name }) => name),
        places.map(({ at }) => timeText(at)),
        places.map(({ product }) => product.id),
      ],
    );
    const gone = Array.from(this.#gone, ({ id }) => id);
    if (gone.length > 0)
      await sql.query("DELETE FROM products WHERE id = ANY ($1::text[])", [gone]);
    const renamed = [...this.#renamed].filter((product) => !this.#gone.has(product));
    if (renamed.length === 0) return;
    await sql.query(
      `UPDATE products p SET name = t.name, slug = t.slug
       FROM unnest($1::text[], $2::text[], $3::text[]) AS t (id, name, slug) WHERE p.id = t.id`,
      [
        renamed.map(({ id }) => id),
        renamed.map(({ name }) => name),
        renamed.map(({ slug }) => slug),
      ],
    );
  }
}

/** Ids hold no NUL: Postgres could not store one (schemas/bounds.ts). */
export const keySeparator = "\0";

export function keyOf({ workspace, environment, provider, externalId }: SkuName): string {
  return [workspace, environment, provider, externalId].join(keySeparator);
}

export function skuOf(key: string): SkuName {
  const [workspace = "", environment, provider = "", externalId = ""] = key.split(keySeparator);
  return { workspace, environment: environment === "test" ? "test" : "live", provider, externalId };
}
