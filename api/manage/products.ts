import type Router from "@koa/router";
import type { Context } from "koa";
import {
  type ProductRecord,
  changeProduct,
  findProduct,
  listProducts,
  mergeProducts,
} from "../../catalogue/edits.js";
import type { CatalogueView } from "../../catalogue/view.js";
import { readJson } from "../../http/body.js";
import { notFound, unprocessable } from "../../http/errors.js";
import { readQuery } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { changedProduct, mergedProducts, productsQuery } from "../../schemas/http/manage.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Cursors } from "../reading/cursors.js";
import { markOf, openList, pageOf } from "./lists.js";
import { productView, storedEnvironment } from "./views.js";
import { workspaceOf } from "./workspace-of.js";

const path = "/workspaces/:workspace/products";

export function productRoutes(
  router: Router,
  service: Service,
  cursors: Cursors,
  catalogues: CatalogueView,
): void {
  const { postgres } = service;

  router.get(path, async (ctx) => {
    const { id } = await workspaceOf(ctx, service);
    const { environment: shown, ...query } = readQuery(ctx, productsQuery);
    const filters = { environment: shown && storedEnvironment(shown) };
    const list = openList({ cursors, scope: ["manage/products", id], query, filters });
    const environment = isEnvironment(list.filters.environment) ? list.filters.environment : null;
    const rows = await listProducts(postgres, id, environment, pageOf(list));
    ctx.body = list.answer(rows, markOf, productView);
  });

  router.patch(`${path}/:product`, async (ctx) => {
    const workspace = await workspaceOf(ctx, service);
    const product = await productOf(ctx, service, workspace.id);
    const given = readJson(ctx, changedProduct);
    const changed = await changeProduct(postgres, workspace.id, product, given);
    if (changed === null) throw unknownProduct();
    catalogues.forget();
    ctx.body = { status: "success", data: productView(changed) };
  });

  router.post(`${path}/:product/merge`, async (ctx) => {
    const workspace = await workspaceOf(ctx, service);
    const product = await productOf(ctx, service, workspace.id);
    const { from } = readJson(ctx, mergedProducts);
    for (const id of from) {
      const other = await findProduct(postgres, workspace.id, id);
      if (other === null || other.id === product.id || other.environment !== product.environment) {
        throw unprocessable(
          "product_not_mergeable",
          `${id} is no other product of this workspace and environment.`,
          "from",
        );
      }
    }
    const merged = await mergeProducts(postgres, workspace.id, product, from);
    if (merged === null) throw unknownProduct();
    catalogues.forget();
    ctx.body = { status: "success", data: productView(merged) };
  });
}

/** @throws ApiError 404 */
async function productOf(
  ctx: Context,
  service: Service,
  workspace: string,
): Promise<ProductRecord> {
  const found = await findProduct(service.postgres, workspace, String(ctx.params.product));
  if (found === null) throw unknownProduct();
  return found;
}

function unknownProduct() {
  return notFound("product_unknown", "There is no such product.");
}

function isEnvironment(text: string | undefined): text is Environment {
  return text === "live" || text === "test";
}
