/**
 * Reads the catalogue: which unified product a SKU belongs to today (`definitions.md`, Products).
 * Figures are grouped by it at query time, so a rename or a merge shows at once, for the past too.
 */
import { type Category, defaultCategory, slugOf, unattributed } from "../schemas/products.js";
import { productId } from "../schemas/ids.js";
import type { Environment } from "../schemas/records/records.js";
import { ExpiringCache } from "../runtime/expiring-cache.js";
import type { Postgres } from "../postgres/postgres.js";

export interface CatalogueProduct {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly category: Category;
  readonly skus: readonly Sku[];
}

export interface Sku {
  readonly provider: string;
  readonly externalId: string;
}

export interface Catalogue {
  readonly products: readonly CatalogueProduct[];
  /** How many there are. */
  readonly skus: number;
  /** Never without an answer: a SKU nobody has named yet is a product of its own. */
  productOf(sku: Sku): CatalogueProduct;
}

export interface CatalogueView {
  /** Cached for `cacheMs`; a large one for longer, where no other process changes it. */
  of(workspace: string, environment: Environment): Promise<Catalogue>;
  /** After a change made by a person through this process. */
  forget(): void;
}

/** Bounds the load; short, since people and tests look at what they have just changed. */
const cacheMs = 200;
/**
 * Of each SKU, ten times what reading it takes the embedded engine, which holds up all else in this
 * process; and up to how long.
 */
const cacheMsPerSku = 0.2;
const cacheMsMax = 5_000;
const cacheEntriesMax = 1_000;

/**
 * @param isAlone people change catalogues through this process only, so that they need not wait
 * @param elapsed ms by a clock that is never set
 */
export function openCatalogueView(
  postgres: Postgres,
  isAlone = false,
  elapsed?: () => number,
): CatalogueView {
  const cache = new ExpiringCache<Catalogue>({
    ttlMs: cacheMs,
    ttlMsOf: ({ skus }) =>
      isAlone ? Math.min(cacheMsMax, Math.max(cacheMs, skus * cacheMsPerSku)) : cacheMs,
    entriesMax: cacheEntriesMax,
    ...(elapsed === undefined ? {} : { elapsed }),
    load: (name) => {
      const [workspace, environment] = name.split("\n");
      return loadCatalogue(postgres, workspace ?? "", environment === "test" ? "test" : "live");
    },
  });
  return {
    of: (workspace, environment) => cache.get(`${workspace}\n${environment}`),
    forget: () => cache.clear(),
  };
}

interface Row {
  readonly id: string;
  readonly name: string;
  readonly slug: string | null;
  readonly category: Category | null;
  /** Null for a product without SKUs. */
  readonly provider: string | null;
  readonly external_id: string | null;
}

async function loadCatalogue(
  postgres: Postgres,
  workspace: string,
  environment: Environment,
): Promise<Catalogue> {
  const rows = await postgres.query<Row>(
    `SELECT p.id, p.name, p.slug, p.category, s.provider, s.external_id
     FROM products p LEFT JOIN skus s ON s.product = p.id
     WHERE p.workspace = $1 AND p.environment = $2
     ORDER BY p.id, s.provider, s.external_id`,
    [workspace, environment],
  );
  return catalogueOf(rows, workspace, environment);
}

/** @param rows one for each SKU, those of a product together */
export function catalogueOf(
  rows: readonly Row[],
  workspace: string,
  environment: Environment,
): Catalogue {
  const skusOf = new Map<Row, Sku[]>();
  let current: { readonly row: Row; readonly skus: Sku[] } | undefined;
  for (const row of rows) {
    if (current?.row.id !== row.id) {
      current = { row, skus: [] };
      skusOf.set(row, current.skus);
    }
    if (row.provider !== null && row.external_id !== null) {
      current.skus.push({ provider: row.provider, externalId: row.external_id });
    }
  }
  const products = [...skusOf].map(([row, skus]) => productFrom(row, skus));
  const bySku = new Map(
    products.flatMap((product) => product.skus.map((sku) => [skuKey(sku), product])),
  );
  return {
    products,
    skus: bySku.size,
    productOf: (sku) => bySku.get(skuKey(sku)) ?? unnamedProduct(workspace, environment, sku),
  };
}

function productFrom(row: Row, skus: readonly Sku[]): CatalogueProduct {
  return {
    id: row.id,
    name: row.name,
    slug: shownSlug(row),
    category: row.category ?? defaultCategory(skus.map((sku) => sku.provider)),
    skus,
  };
}

/** What no SKU was reported is one product of all providers; other SKUs show under their own id. */
function unnamedProduct(workspace: string, environment: Environment, sku: Sku): CatalogueProduct {
  const isReported = sku.externalId !== "";
  const name = isReported ? sku.externalId : unattributed;
  const id = productId(workspace, environment, isReported ? sku.provider : "", sku.externalId);
  return {
    id,
    name,
    slug: shownSlug({ id, name, slug: null }),
    category: defaultCategory(isReported ? [sku.provider] : []),
    skus: [sku],
  };
}

/**
 * No product is shown without one, though no provider has named it yet, or called it 🚀. A SKU that
 * is named later joins by a stored one only.
 */
export function shownSlug({ id, name, slug }: Pick<Row, "id" | "name" | "slug">): string {
  return slug ?? (slugOf(name) || slugOf(id));
}

/** No provider token holds a colon. */
function skuKey(sku: Sku): string {
  return `${sku.provider}:${sku.externalId}`;
}
