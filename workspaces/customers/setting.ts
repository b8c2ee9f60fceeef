/** Who may see a workspace's customers by name, and whether any are kept. */
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { CustomerDetails } from "../../schemas/http/manage.js";

export interface CustomerSetting {
  readonly details: CustomerDetails;
  /** Grows with each change. */
  readonly revision: number;
}

/** @returns null: there is no such workspace */
export async function customerDetailsOf(
  postgres: Postgres,
  workspace: string,
): Promise<CustomerSetting | null> {
  const [row] = await postgres.query<CustomerSetting>(
    `SELECT customer_details AS details, customer_details_revision AS revision
     FROM workspaces WHERE id = $1`,
    [workspace],
  );
  return row ?? null;
}

/**
 * `off` erases what was kept; customers erased one by one stay marked, so that they are not kept
 * again when the setting changes back.
 */
export async function setCustomerDetails(
  postgres: Postgres,
  workspace: string,
  details: CustomerDetails,
): Promise<void> {
  await postgres.transaction(
    async (sql) => {
      await sql.query(
        `UPDATE workspaces SET customer_details = $2,
           customer_details_revision = customer_details_revision + 1
         WHERE id = $1 AND customer_details <> $2`,
        [workspace, details],
      );
      if (details !== "off") return;
      await sql.query("DELETE FROM customers WHERE workspace = $1 AND sealed IS NOT NULL", [
        workspace,
      ]);
    },
    // A large workspace has a million of them.
    { isUnhurried: true },
  );
}
