import { matching } from "../../../stores/clickhouse/rows.js";
import type { Change } from "../../../schemas/subscriptions/change.js";

export function inAccounts(
  rows: readonly Pick<Change, "workspace" | "environment" | "account">[],
): string {
  return matching(rows, "workspace", "environment", "account");
}
