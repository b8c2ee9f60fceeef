import type { Context } from "koa";
import {
  type ProductRecord,
  changeProduct,
  findProduct,
  listProducts,
} from "../../workspaces/catalogue/edits.js";
import { mergeProducts, undoMerge } from "../../workspaces/catalogue/merges.js";
import type { CatalogueView } from "../../workspaces/catalogue/view.js";
import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { readQuery } from "../../http/query.js";
import { newActivityId } from "../../workspaces/members/activity.js";
import type { Service } from "../../service.js";
import { changedProduct, mergedProducts, productsQuery } from "../../schemas/http/manage.js";
import type { Environment } from "../../schemas/records/records.js";
import type { Cursors } from "../reading/cursors.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";
import { markOf, openList, pageOf } from "./lists.js";
import { productView, storedEnvironment } from "./views.js";

const path = "/products";

export function productRoutes(
  { postgres }: Service,
  calls: Calls<Workspace>,
  cursors: Cursors,
  catalogues: CatalogueView,
): void {
  calls.answer("GET", path, { right: "look" }, async (ctx, { id }) => {
    const { environment: shown, ...query } = readQuery(ctx, productsQuery);
    const filters = { environment: shown && storedEnvironment(shown) };
    const list = openList(ctx, { cursors, name: path, query, filters });
    const environment = isEnvironment(list.filters.environment) ? list.filters.environment : null;
    const rows = await listProducts(postgres, id, environment, pageOf(list));
    return list.answer(rows, markOf, productView);
  });

  const change = { right: "manage", action: "product.changed" } as const;
  calls.write("PATCH", `${path}/:product`, change, async (ctx, workspace) => {
    const product = await productOf(ctx, workspace);
    const given = readJson(ctx, changedProduct);
    const changed = await changeProduct(postgres, workspace.id, product, given);
    if (changed === null) throw unknownProduct();
    catalogues.forget();
    return productView(changed);
  });

  const merge = { right: "manage", action: "product.merged" } as const;
  calls.write("POST", `${path}/:product/merge`, merge, async (ctx, workspace) => {
    const product = await productOf(ctx, workspace);
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
    const activity = newActivityId();
    const merged = await mergeProducts(postgres, workspace.id, product, from, activity);
    if (merged === null) throw unknownProduct();
    ctx.state.activity = activity;
    catalogues.forget();
    return { ...productView(merged), activity };
  });

  const undo = { right: "manage", action: "product.merge_undone" } as const;
  calls.write("POST", "/activity/:activity/undo", undo, async (ctx, workspace) => {
    const product = await undoMerge(
      postgres,
      workspace.id,
      String(ctx.params.activity),
      new Date(),
    );
    if (product === null) {
      throw conflict("nothing_to_undo", "This cannot be undone, or was undone already.");
    }
    catalogues.forget();
    return productView(product);
  });

  /** @throws ApiError 404 */
  async function productOf(ctx: Context, { id }: Workspace): Promise<ProductRecord> {
    const found = await findProduct(postgres, id, String(ctx.params.product));
    if (found === null) throw unknownProduct();
    return found;
  }
}

function unknownProduct() {
  return notFound("product_unknown", "There is no such product.");
}

function isEnvironment(text: string | undefined): text is Environment {
  return text === "live" || text === "test";
}
