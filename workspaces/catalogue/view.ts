/**
 * Reads the catalogue: which unified product a SKU belongs to today (`definitions.md`, Products).
 * Figures are grouped by it at query time, so a rename or a merge shows at once, for the past too.
 */
import { type Category, defaultCategory, slugOf, unattributed } from "../../schemas/products.js";
import { productId } from "../../schemas/ids.js";
import type { Environment } from "../../schemas/records/records.js";
import { LRUCache } from "lru-cache";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { catalogueName, catalogueNews, readRevisions } from "./skus.js";
import type { Postgres } from "../../stores/postgres/postgres.js";

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
  readonly skus: number;
  /** Always answers: a SKU nobody has named yet is a product of its own. */
  productOf(sku: Sku): CatalogueProduct;
}

export type CatalogueView = ReturnType<typeof openCatalogueView>;

/** How often the revisions of all are read; short, since people look at what they just changed. */
const checkMs = 200;
/** An unchanged revision is not enough, because a restore writes without one. */
const keptMsMax = 5_000;
/** For each SKU: ten times what reading it takes the embedded engine, which blocks all else. */
const keptMsPerSku = 0.2;
const keptMax = 1_000;
/** Of a catalogue: computing an id takes a hash. */
const unnamedKeptMax = 1_000;

interface Kept {
  readonly catalogue: Promise<Catalogue>;
  /** Null while it is being read; times in ms of `elapsed`. */
  read: { readonly revision: bigint; readonly notBefore: number; readonly until: number } | null;
}

/**
 * @param isAlone catalogues are changed only through this process, so revisions need not be read
 *   without news
 * @param elapsed ms by a clock that is never set
 */
export function openCatalogueView(
  postgres: Postgres,
  isAlone = false,
  elapsed = () => performance.now(),
) {
  const kept = new LRUCache<string, Kept>({ max: keptMax });
  /** `catalogueNews`, and `elapsed`, at the last look. */
  let [seen, lookedAt] = [catalogueNews.count, elapsed()];
  /** A changed catalogue was kept, because it had been read a moment before. */
  let isOneOld = false;
  const changes = new ExpiringCache({
    ttlMs: checkMs,
    entriesMax: 1,
    elapsed,
    load: async () => {
      if (kept.size === 0) return;
      // Alone, this process knows of every change but those of a restore.
      const isNews = catalogueNews.count !== seen || elapsed() >= lookedAt + keptMsMax;
      if (isAlone && !isNews && !isOneOld) return;
      [seen, lookedAt] = [catalogueNews.count, elapsed()];
      const revisions = await readRevisions(postgres, [...kept.keys()]);
      isOneOld = false;
      for (const [name, { read }] of kept.entries()) {
        if (read === null) continue;
        const isChanged = read.revision < (revisions.get(name) ?? 0n);
        if (elapsed() >= (isChanged ? read.notBefore : read.until)) kept.delete(name);
        else isOneOld ||= isChanged;
      }
    },
  });

  function keep(workspace: string, environment: Environment): Kept {
    const name = catalogueName(workspace, environment);
    const load = async () => {
      const at = elapsed();
      // Before the rows: a change in between is seen again, never missed.
      const revision = (await readRevisions(postgres, [name])).get(name) ?? 0n;
      const catalogue = await readCatalogue(postgres, workspace, environment);
      const leastMs = isAlone ? Math.min(keptMsMax, catalogue.skus * keptMsPerSku) : 0;
      one.read = { revision, notBefore: at + leastMs, until: at + keptMsMax };
      return catalogue;
    };
    const one: Kept = { catalogue: load(), read: null };
    kept.set(name, one);
    one.catalogue.catch(() => {
      if (kept.peek(name) === one) kept.delete(name);
    });
    return one;
  }

  return {
    /** At most `checkMs` old; a large one that changes all the time is older. */
    async of(workspace: string, environment: Environment): Promise<Catalogue> {
      await changes.get("");
      const name = catalogueName(workspace, environment);
      return (kept.get(name) ?? keep(workspace, environment)).catalogue;
    },
    /** After a change that a person made through this process. */
    forget(): void {
      kept.clear();
      changes.clear();
    },
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

async function readCatalogue(
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
  const unnamed = new Map<string, CatalogueProduct>();
  return {
    products,
    skus: bySku.size,
    productOf(sku) {
      const key = skuKey(sku);
      const found = bySku.get(key) ?? unnamed.get(key);
      if (found !== undefined) return found;
      const own = unnamedProduct(workspace, environment, sku);
      if (unnamed.size < unnamedKeptMax) unnamed.set(key, own);
      return own;
    },
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

/** Sales without a SKU are one product across providers; other SKUs show under their own id. */
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
 * Every shown product has a slug, even if no provider has named it, or called it 🚀. A SKU that is
 * named later joins by a stored slug only.
 */
export function shownSlug({ id, name, slug }: Pick<Row, "id" | "name" | "slug">): string {
  return slug ?? (slugOf(name) || slugOf(id));
}

/** No provider token holds a colon. */
function skuKey(sku: Sku): string {
  return `${sku.provider}:${sku.externalId}`;
}
