import {
  type ProductRecord,
  changeProduct,
  findProduct,
  listProducts,
} from "../../workspaces/catalogue/edits.js";
import { shownSlug } from "../../workspaces/catalogue/view.js";
import { mergeProducts, undoMerge } from "../../workspaces/catalogue/merges.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { newActivityId } from "../../workspaces/members/activity.js";
import {
  type ManagedProduct,
  changedProduct,
  managedProduct,
  mergedProduct,
  mergedProducts,
  productsQuery,
} from "../../schemas/http/manage.js";
import type { Environment } from "../../schemas/records/records.js";
import { filteredBy, named, ofWorkspace } from "./calls.js";
import { shownEnvironment, storedEnvironment } from "./environments.js";

const path = "/products";
const one = `${path}/{product}`;

const productOf = named("product", ({ postgres, of }, id) => findProduct(postgres, of.id, id));

export const productRoutes = [
  ofWorkspace.list(path, "Products", {
    right: "look",
    row: managedProduct,
    filters: filteredBy(productsQuery, ({ environment }) => ({
      environment: environment && storedEnvironment(environment),
    })),
    read({ postgres, of }, page, { filters: { environment } }) {
      return listProducts(postgres, of.id, isEnvironment(environment) ? environment : null, page);
    },
    view: productView,
  }),
  ofWorkspace.patch(one, "Rename, re-categorise, move SKUs", {
    right: "manage",
    action: "product.changed",
    body: changedProduct,
    answer: managedProduct,
    find: productOf,
    async run({ postgres, catalogues, of, found, body }) {
      const changed = await changeProduct(postgres, of.id, found, body);
      if (changed === null) throw unknownProduct();
      catalogues.forget();
      return productView(changed);
    },
  }),
  ofWorkspace.post(`${one}/merge`, "Merge products into this one", {
    right: "manage",
    action: "product.merged",
    body: mergedProducts,
    answer: mergedProduct,
    status: 200,
    find: productOf,
    async run({ postgres, catalogues, ctx, of, found: product, body: { from } }) {
      for (const id of from) {
        const other = await findProduct(postgres, of.id, id);
        const isOther = other !== null && other.id !== product.id;
        if (!isOther || other.environment !== product.environment) {
          throw unprocessable(
            "product_not_mergeable",
            `${id} is no other product of this workspace and environment.`,
            "from",
          );
        }
      }
      const activity = newActivityId();
      const merged = await mergeProducts(postgres, of.id, product, from, activity);
      if (merged === null) throw unknownProduct();
      ctx.state.activity = activity;
      catalogues.forget();
      return { ...productView(merged), activity };
    },
  }),
];

export const undoRoutes = [
  ofWorkspace.post("/activity/{activity}/undo", "Undo a merge of products", {
    right: "manage",
    action: "product.merge_undone",
    answer: managedProduct,
    status: 200,
    errors: [409],
    async run({ postgres, catalogues, ctx, of }) {
      const activity = String(ctx.params.activity);
      const product = await undoMerge(postgres, of.id, activity, new Date());
      if (product === null) {
        throw conflict("nothing_to_undo", "This cannot be undone, or was undone already.");
      }
      catalogues.forget();
      return productView(product);
    },
  }),
];

function unknownProduct() {
  return notFound("product_unknown", "There is no such product.");
}

function isEnvironment(text: string | undefined): text is Environment {
  return text === "live" || text === "test";
}

function productView(row: ProductRecord): ManagedProduct {
  const { id, name, category, skus } = row;
  return {
    id,
    name,
    slug: shownSlug(row),
    category,
    environment: shownEnvironment(row.environment),
    skus: [...skus],
    created_at: row.created_at.toISOString(),
  };
}
