/** Erases the name, e-mail and id of a customer. The figures stay, because they name nobody. */
import type { Context } from "koa";
import { z } from "zod";
import { eraseCustomer } from "../../workspaces/customers/stored.js";
import { notFound } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";

/** A keyed hash (stores/vault/account-hash.ts). */
const accountHash = z.string().regex(/^[0-9A-Za-z]{32}$/);

export function customerRoutes({ postgres }: Service, calls: Calls<Workspace>): void {
  const path = "/accounts/:account/customer";
  const erased = { right: "manage", action: "customer.erased" } as const;
  calls.write("DELETE", path, erased, async (ctx: Context, { id: workspace }) => {
    const account = accountHash.safeParse(ctx.params.account);
    if (!account.success) throw notFound("account_unknown", "There is no such account.");
    // Even if nothing is known of the account yet, so that nothing will be.
    await eraseCustomer(postgres, workspace, account.data);
    return { id: account.data };
  });
}
