/** Groups of the figures over time: what distinguishes them in the tables, and in answers. */
import type { Catalogue } from "../../catalogue/view.js";
import type { CellGroup, GroupFields } from "../../schemas/http/series.js";
import { providerToken } from "../../schemas/http/transactions.js";

/** A product is grouped by its SKUs, which people may regroup. */
export const groupColumns: Readonly<Record<CellGroup, readonly string[]>> = {
  provider: ["provider"],
  product: ["provider", "external_id"],
  country: ["country"],
  currency: ["currency"],
};

/** A group's own columns only where it is asked for. */
export interface GroupRow {
  readonly provider?: string;
  readonly external_id?: string;
  readonly country?: string;
  readonly currency?: string;
}

export function groupFields(
  row: GroupRow,
  group: CellGroup | undefined,
  catalogue: Catalogue,
): GroupFields {
  const { provider = "", external_id: externalId = "", country = "", currency = "" } = row;
  switch (group) {
    case undefined:
      return {};
    case "provider":
      return { provider: providerToken.parse(provider) };
    case "product": {
      const { id, name } = catalogue.productOf({ provider, externalId });
      return { product_id: id, product_name: name };
    }
    case "country":
      return { country };
    case "currency":
      return { original_currency: currency };
    default:
      return group satisfies never;
  }
}

/** Groups are in its order. */
export function groupKey(fields: GroupFields): string {
  return Object.values(fields).join("\n");
}

/** The columns of a table of that group, of all columns any group has. */
export function isOfGroup(name: string, group: string | undefined): boolean {
  const fields = Object.entries(answerFields).find(([, names]) => names.includes(name));
  return fields === undefined || fields[0] === group;
}

const answerFields: Readonly<Record<CellGroup | "kind", readonly string[]>> = {
  provider: ["provider"],
  product: ["product_id", "product_name"],
  country: ["country"],
  currency: ["original_currency"],
  kind: ["kind"],
};
