/**
 * Merges products and undoes merges. What a merge took in is kept as it was, so that undoing it
 * restores the products with ids, names, categories and slugs.
 */
import type { Postgres } from "../../stores/postgres/postgres.js";
import { insertRow } from "../../stores/postgres/rows.js";
import { type ProductRecord, findProduct, removeEmpty } from "./edits.js";
import { lockCatalogue } from "./skus.js";

/**
 * Moves all SKUs of `from` to the product, and removes `from`.
 * @param id of the merge: that of its row in the activity log
 * @returns the changed product; null: it no longer exists
 */
export async function mergeProducts(
  postgres: Postgres,
  workspace: string,
  { id: product, environment }: Pick<ProductRecord, "id" | "environment">,
  from: readonly string[],
  id: string,
): Promise<ProductRecord | null> {
  return postgres.transaction(async (sql) => {
    await lockCatalogue(sql, workspace, environment);
    if ((await findProduct(sql, workspace, product)) === null) return null;
    const values = [workspace, environment, from, product];
    const [taken] = await sql.query<{ merged: object | null }>(
      `SELECT jsonb_agg(jsonb_build_object('id', p.id, 'name', p.name, 'slug', p.slug,
           'category', p.category, 'named_by_person', p.named_by_person,
           'created_at', p.created_at, 'skus', coalesce(
             (SELECT jsonb_agg(jsonb_build_object(
                 'provider', s.provider, 'external_id', s.external_id)
               ORDER BY s.provider, s.external_id) FROM skus s WHERE s.product = p.id), '[]'))
         ORDER BY p.id) AS merged
       FROM products p
       WHERE workspace = $1 AND environment = $2 AND id = ANY ($3::text[]) AND id <> $4`,
      values,
    );
    const merged = JSON.stringify(taken?.merged ?? []);
    await insertRow(sql, "product_merges", { id, workspace, environment, product, merged });
    await sql.query(
      `UPDATE skus SET product = $4
       WHERE workspace = $1 AND environment = $2 AND product = ANY ($3::text[])`,
      values,
    );
    await sql.query(
      `DELETE FROM products
       WHERE workspace = $1 AND environment = $2 AND id = ANY ($3::text[]) AND id <> $4`,
      values,
    );
    return findProduct(sql, workspace, product);
  });
}

/** The SKUs that still belong to the product they were merged into. */
const skusToGoBack = `product_merges m, jsonb_array_elements(m.merged) AS p (one),
  jsonb_array_elements(p.one -> 'skus') AS k (sku), skus s
  WHERE s.workspace = m.workspace AND s.environment = m.environment AND s.product = m.product
    AND s.provider = k.sku ->> 'provider' AND s.external_id = k.sku ->> 'external_id'
    AND m.undone_at IS NULL`;

export interface MergeUndo {
  readonly product: string;
  readonly merged: readonly {
    readonly name: string;
    readonly skus: readonly { readonly provider: string; readonly external_id: string }[];
  }[];
}

/**
 * SQL of a `MergeUndo` as JSON; null where there is nothing to undo.
 * @param id SQL of a merge's id
 */
export function mergeUndoSql(id: string): string {
  return `(SELECT jsonb_build_object(
      'product', (SELECT name FROM products WHERE products.id = shown.product),
      'merged', jsonb_agg(jsonb_build_object('name', shown.name, 'skus', shown.skus)
        ORDER BY shown.name))
    FROM (SELECT m.product, p.one ->> 'name' AS name,
        jsonb_agg(k.sku ORDER BY s.provider, s.external_id) AS skus
      FROM ${skusToGoBack} AND m.id = ${id}
      GROUP BY m.product, p.one) AS shown
    GROUP BY shown.product)`;
}

/** @returns the product that they left; null: there is nothing to undo (any more) */
export async function undoMerge(
  postgres: Postgres,
  workspace: string,
  id: string,
  now: Date,
): Promise<ProductRecord | null> {
  return postgres.transaction(async (sql) => {
    const [merge] = await sql.query<Pick<ProductRecord, "environment"> & { product: string }>(
      "SELECT environment, product FROM product_merges WHERE workspace = $1 AND id = $2",
      [workspace, id],
    );
    if (merge === undefined) return null;
    const { environment, product } = merge;
    await lockCatalogue(sql, workspace, environment);
    const going = await sql.query(`SELECT 1 FROM ${skusToGoBack} AND m.id = $1 LIMIT 1`, [id]);
    if (going.length === 0) return null;
    // Another product may have taken the slug since.
    await sql.query(
      `INSERT INTO products
         (id, workspace, environment, name, slug, named_by_person, category, created_at)
       SELECT p.id, m.workspace, m.environment, p.name,
         (SELECT p.slug WHERE NOT EXISTS (SELECT 1 FROM products o
           WHERE o.workspace = m.workspace AND o.environment = m.environment AND o.slug = p.slug)),
         p.named_by_person, p.category, p.created_at
       FROM product_merges m, jsonb_to_recordset(m.merged) AS p (id text, name text, slug text,
         named_by_person boolean, category text, created_at timestamptz)
       WHERE m.id = $1 ON CONFLICT (id) DO NOTHING`,
      [id],
    );
    await sql.query(
      `UPDATE skus SET product = back.product
       FROM (SELECT s.workspace, s.environment, s.provider, s.external_id,
           p.one ->> 'id' AS product
         FROM ${skusToGoBack} AND m.id = $1) AS back
       WHERE skus.workspace = back.workspace AND skus.environment = back.environment
         AND skus.provider = back.provider AND skus.external_id = back.external_id`,
      [id],
    );
    await sql.query("UPDATE product_merges SET undone_at = $2 WHERE id = $1", [id, now]);
    await removeEmpty(sql, workspace, environment, product);
    return findProduct(sql, workspace, product);
  });
}
