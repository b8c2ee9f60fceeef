/** Who a customer is: in answers to members only (`definitions.md`, Customers). */
import { z } from "zod";

const customer = z
  .object({
    id: z.string().nullable().meta({ description: "As the provider calls the customer." }),
    name: z.string().nullable(),
    email: z.string().nullable(),
    provider_url: z
      .string()
      .nullable()
      .meta({ description: "The customer's page at the provider." }),
  })
  .meta({ id: "Customer" });
export type Customer = z.output<typeof customer>;

/** On what is of an account. */
export const customerField = {
  customer: customer
    .nullable()
    .optional()
    .meta({
      description:
        "Of sessions only, and never in answers to API keys. Null where the workspace's " +
        "`customer_details` does not let the member see it, or there is no account.",
    }),
};
