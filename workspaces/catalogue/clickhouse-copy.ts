/**
 * Today's catalogue in ClickHouse, for the SQL views (docs/sql.md), which cannot ask Postgres. A
 * pass writes what differs, so it may run twice, be cut short, or overlap another one: the next
 * pass corrects that.
 */
import { setTimeout as pause } from "node:timers/promises";
import { partsOf } from "../../stores/clickhouse/sql-text.js";
import { tryExclusively } from "../../stores/postgres/leases.js";
import type { Service } from "../../service.js";
import type { Environment } from "../../schemas/records/records.js";
import { listWorkspaces, type Workspace } from "../workspaces.js";
import { type Catalogue, type CatalogueProduct, openCatalogueView, type Sku } from "./view.js";

const passEveryMs = 30_000;
const workspacesAtOnce = 100;

type Copying = Pick<Service, "clickhouse" | "postgres">;

/** On one server, once somebody has made the views (ops/sql-user.ts). */
export function keepCatalogueCopy(service: Copying & Pick<Service, "logger" | "releases">): void {
  const { clickhouse, postgres, logger, releases } = service;
  if (!clickhouse.isShared || clickhouse.cluster !== null) return;
  releases.run("catalogue copy", async (signal) => {
    while (!signal.aborted) {
      try {
        if (await hasViews(service)) {
          await tryExclusively(postgres, "catalogue copy", () => copyCatalogues(service, signal));
        }
      } catch (error) {
        if (!signal.aborted) logger.error({ err: error }, "the catalogue was not copied for SQL");
      }
      // Rejects when stopping, which ends the loop.
      await pause(passEveryMs, undefined, { signal }).catch(() => undefined);
    }
  });
}

async function hasViews({ clickhouse }: Copying): Promise<boolean> {
  const found = await clickhouse.rows(
    `SELECT 1 FROM system.tables
     WHERE database = currentDatabase() AND name = 'analytics_products'`,
  );
  return found.length > 0;
}

/** One catalogue in memory at a time. */
export async function copyCatalogues(service: Copying, signal?: AbortSignal): Promise<void> {
  let after: { readonly createdAt: Date; readonly id: string } | null = null;
  do {
    const page: Workspace[] = await listWorkspaces(
      service.postgres,
      { rowsMax: workspacesAtOnce, after },
      null,
    );
    for (const workspace of page) {
      if (signal?.aborted === true) return;
      await copyCatalogue(service, workspace, "live");
      await copyCatalogue(service, workspace, "test");
    }
    const last = page.length < workspacesAtOnce ? undefined : page.at(-1);
    after = last === undefined ? null : { createdAt: last.created_at, id: last.id };
  } while (after !== null);
}

async function copyCatalogue(
  { clickhouse, postgres }: Copying,
  { id: workspace, base_currency: baseCurrency }: Workspace,
  environment: Environment,
): Promise<void> {
  const copied = await clickhouse.rows<CopyRow & { readonly revision: string }>(
    `SELECT ${columns.join(", ")}, revision FROM catalogue_skus FINAL
     WHERE workspace = {workspace:String} AND environment = {environment:String}`,
    { workspace, environment },
  );
  const known = new Map(copied.map(({ revision, ...row }) => [keyOf(row), { row, revision }]));
  // Read after the copy, because a revision follows the one it replaces.
  const catalogue = await openCatalogueView(postgres).of(workspace, environment);
  const changed = rowsOf(catalogue).flatMap((row) => {
    const shown = { workspace, environment, ...row, base_currency: baseCurrency };
    const before = known.get(keyOf(shown));
    if (before !== undefined && textOf(before.row) === textOf(shown)) return [];
    return [{ ...shown, revision: (BigInt(before?.revision ?? 0) + 1n).toString() }];
  });
  const structure = `${columns.map((name) => `${name} String`).join(", ")}, revision UInt64`;
  for (const { table } of partsOf(structure, changed)) {
    await clickhouse.write(
      `INSERT INTO catalogue_skus (${columns.join(", ")}, revision) SELECT * FROM ${table}`,
    );
  }
}

const columns = [
  "workspace",
  "environment",
  "provider",
  "external_id",
  "product_id",
  "product_name",
  "slug",
  "category",
  "base_currency",
] as const;

type CopyRow = Readonly<Record<(typeof columns)[number], string>>;

/** Sales without a SKU are one product of all providers. */
const withoutSku: Sku = { provider: "", externalId: "" };

function rowsOf(catalogue: Catalogue) {
  const listed = catalogue.products.flatMap((product) =>
    product.skus.map((sku) => rowOf(sku, product)),
  );
  return [...listed, rowOf(withoutSku, catalogue.productOf(withoutSku))];
}

function rowOf({ provider, externalId }: Sku, { id, name, slug, category }: CatalogueProduct) {
  return { provider, external_id: externalId, product_id: id, product_name: name, slug, category };
}

function keyOf({ provider, external_id: externalId }: CopyRow): string {
  return `${provider}:${externalId}`;
}

function textOf(row: CopyRow): string {
  return JSON.stringify(columns.map((name) => row[name]));
}
