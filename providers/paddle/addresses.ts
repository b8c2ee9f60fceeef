/** Addresses: where customers are. */
import { z } from "zod";
import { ignored } from "../outcomes.js";
import { field, reader } from "./event.js";

const shape = z.object({
  customer_id: field.id.nullish(),
  country_code: z.string().nullish(),
});

export const readAddress = reader(shape, ({ customer_id: account, country_code: country }) => {
  const isKnown = /^[A-Z]{2}$/.test(country ?? "");
  if (!account || !country || !isKnown) return ignored("it names no customer and country");
  return [{ Customer: { account, country } }];
});
