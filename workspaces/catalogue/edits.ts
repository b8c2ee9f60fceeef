/**
 * Edits of products by people: names, categories, which SKUs belong together. Figures group SKUs at
 * query time, so they follow at once, for the past too (`definitions.md`, Products). A renamed
 * product keeps its slug, so that SKUs named later still find it. A product that lost its last SKU
 * is removed, unless a person had named it.
 */
import type { ChangedProduct } from "../../schemas/http/manage.js";
import { type Category, slugOf } from "../../schemas/products.js";
import type { Environment } from "../../schemas/records/records.js";
import { lockCatalogue } from "./skus.js";
import type { ListPage } from "../list-page.js";
import type { Postgres, Sql } from "../../stores/postgres/postgres.js";
import { updateRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";

export interface ProductRecord {
  readonly id: string;
  readonly environment: Environment;
  readonly name: string;
  readonly slug: string | null;
  readonly category: Category | null;
  readonly created_at: Date;
  readonly skus: readonly SkuKey[];
}

interface SkuKey {
  readonly provider: string;
  readonly external_id: string;
}

const columns = `p.id, p.environment, p.name, p.slug, p.category, p.created_at,
  coalesce((SELECT jsonb_agg(
      jsonb_build_object('provider', s.provider, 'external_id', s.external_id)
    ORDER BY s.provider, s.external_id) FROM skus s WHERE s.product = p.id), '[]') AS skus`;

export function listProducts(
  postgres: Postgres,
  workspace: string,
  environment: Environment | null,
  page: ListPage,
): Promise<ProductRecord[]> {
  return postgres.query<ProductRecord>(
    `SELECT ${columns} FROM products p
     WHERE p.workspace = $4 AND ($5::text IS NULL OR p.environment = $5)
       AND ($2::timestamptz IS NULL OR (date_trunc('milliseconds', p.created_at), p.id) < ($2, $3))
     ORDER BY date_trunc('milliseconds', p.created_at) DESC, p.id DESC LIMIT $1`,
    [page.rowsMax, page.after?.createdAt ?? null, page.after?.id ?? null, workspace, environment],
  );
}

export async function findProduct(
  sql: Sql,
  workspace: string,
  id: string,
): Promise<ProductRecord | null> {
  const [row] = await sql.query<ProductRecord>(
    `SELECT ${columns} FROM products p WHERE p.workspace = $1 AND p.id = $2`,
    [workspace, id],
  );
  return row ?? null;
}

/** @returns the changed product; null: it no longer exists */
export async function changeProduct(
  postgres: Postgres,
  workspace: string,
  { id, environment }: Pick<ProductRecord, "id" | "environment">,
  change: ChangedProduct,
): Promise<ProductRecord | null> {
  return postgres.transaction(async (sql) => {
    await lockCatalogue(sql, workspace, environment);
    const product = await findProduct(sql, workspace, id);
    if (product === null) return null;
    const { name, category, skus } = change;
    if (name !== undefined) {
      await updateRow(sql, "products", id, { name, named_by_person: true });
    }
    if (category !== undefined) {
      await updateRow(sql, "products", id, { category });
    }
    if (skus !== undefined) {
      await moveHere(sql, workspace, product, skus);
      await splitOff(sql, workspace, product, skus);
      await removeEmpty(sql, workspace, product.environment, product.id);
    }
    return findProduct(sql, workspace, id);
  });
}

/** A SKU that was sold but never named has no row yet. */
async function moveHere(
  sql: Sql,
  workspace: string,
  product: ProductRecord,
  skus: readonly SkuKey[],
): Promise<void> {
  await sql.query(
    `INSERT INTO skus (workspace, environment, provider, external_id, product)
     SELECT DISTINCT $1, $2, provider, external_id, $3
     FROM unnest($4::text[], $5::text[]) AS t (provider, external_id)
     ON CONFLICT (workspace, environment, provider, external_id) DO UPDATE SET product = $3`,
    [
      workspace,
      product.environment,
      product.id,
      skus.map((sku) => sku.provider),
      skus.map((sku) => sku.external_id),
    ],
  );
}

/**
 * What is taken from the product becomes a product of its own, which nothing joins, under its
 * provider's name.
 */
async function splitOff(
  sql: Sql,
  workspace: string,
  product: ProductRecord,
  kept: readonly SkuKey[],
): Promise<void> {
  const isKept = (sku: SkuKey) =>
    kept.some((one) => one.provider === sku.provider && one.external_id === sku.external_id);
  const made: string[] = [];
  for (const sku of product.skus.filter((one) => !isKept(one))) {
    const id = `prod_unf_${randomBase62(27)}`;
    const values = [id, workspace, product.environment, sku.provider, sku.external_id];
    await sql.query(
      `INSERT INTO products (id, workspace, environment, name)
       SELECT $1, workspace, environment, ${skuName} FROM skus s
       WHERE workspace = $2 AND environment = $3 AND provider = $4 AND external_id = $5`,
      values,
    );
    await sql.query(
      `UPDATE skus SET product = $1
       WHERE workspace = $2 AND environment = $3 AND provider = $4 AND external_id = $5`,
      values,
    );
    made.push(id);
  }
  await nameRest(sql, product.id, made);
  await tellApart(sql, made);
}

/** Its own name; its id until a provider names it. */
const skuName = "coalesce(s.name, s.external_id)";

/**
 * If the product had the name of what was split off, and no person chose that, it gets the name of
 * what remains.
 */
async function nameRest(sql: Sql, product: string, made: readonly string[]): Promise<void> {
  const isCalledSo = (products: string) =>
    `EXISTS (SELECT 1 FROM skus s WHERE s.product = ${products} AND ${skuName} = p.name)`;
  const [rest] = await sql.query<{ name: string; own: string | null }>(
    `SELECT ${skuName} AS name, s.name AS own FROM products p JOIN skus s ON s.product = p.id
     WHERE p.id = $1 AND NOT p.named_by_person
       AND NOT ${isCalledSo("p.id")} AND ${isCalledSo("ANY ($2::text[])")}
     ORDER BY s.provider, s.external_id LIMIT 1`,
    [product, made],
  );
  if (rest === undefined) return;
  await sql.query(
    `UPDATE products p SET name = $2, slug = (SELECT $3::text WHERE NOT EXISTS (
       SELECT 1 FROM products o WHERE o.workspace = p.workspace
         AND o.environment = p.environment AND o.slug = $3 AND o.id <> p.id))
     WHERE id = $1`,
    [product, rest.name, rest.own === null ? null : slugOf(rest.own) || null],
  );
}

/** Providers may give two SKUs the same name, which would look alike in lists and charts. */
async function tellApart(sql: Sql, made: readonly string[]): Promise<void> {
  await sql.query(
    `UPDATE products p SET name = p.name || ' (' || s.external_id || ')' FROM skus s
     WHERE p.id = ANY ($1::text[]) AND s.product = p.id AND EXISTS (
       SELECT 1 FROM products o WHERE o.workspace = p.workspace
         AND o.environment = p.environment AND o.name = p.name AND o.id <> p.id)`,
    [made],
  );
}

export async function removeEmpty(
  sql: Sql,
  workspace: string,
  environment: Environment,
  except: string,
): Promise<void> {
  await sql.query(
    `DELETE FROM products p WHERE p.workspace = $1 AND p.environment = $2 AND p.id <> $3
       AND NOT p.named_by_person AND NOT EXISTS (SELECT 1 FROM skus s WHERE s.product = p.id)`,
    [workspace, environment, except],
  );
}
