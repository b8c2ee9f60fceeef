/** Erases the name, e-mail and id of a customer. The figures stay, because they name nobody. */
import { z } from "zod";
import { eraseCustomer } from "../../workspaces/customers/stored.js";
import { notFound } from "../../schemas/http/errors.js";
import { erasedCustomer } from "../../schemas/http/manage.js";
import { ofWorkspace } from "./calls.js";

/** A keyed hash (stores/vault/account-hash.ts). */
const accountHash = z.string().regex(/^[0-9A-Za-z]{32}$/);

export const customerRoutes = [
  ofWorkspace.delete(
    "/accounts/{account}/customer",
    "Erase a customer's id, name and e-mail; nothing is kept of it again",
    {
      right: "manage",
      action: "customer.erased",
      answer: erasedCustomer,
      async run({ postgres, ctx, of }) {
        const account = accountHash.safeParse(ctx.params.account);
        if (!account.success) throw notFound("account_unknown", "There is no such account.");
        // Even if nothing is known of the account yet, so that nothing will be.
        await eraseCustomer(postgres, of.id, account.data);
        return { id: account.data };
      },
    },
  ),
];
