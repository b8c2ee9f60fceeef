/** The JSON of two readings of one figure, and of what lies between them. */
import type { Catalogue } from "../../workspaces/catalogue/view.js";
import { type MrrChangeView, type MrrChangesAnswer, mrrChange } from "./schema.js";
import type { MrrChangeRow } from "./query.js";
import type { MrrRow } from "../mrr/query.js";
import { showMrr } from "../reading/amounts.js";
import { exactMrr, mrrOf } from "../../schemas/money/monthly.js";
import { timeText } from "../events/evidence.js";

export interface Reading {
  /** ms since 1970 */
  readonly knownAt: number;
  /** By provider; only of the wanted one. */
  readonly rows: readonly MrrRow[];
}

/** @param at ms since 1970 */
export function presentReadings(
  at: number,
  from: Reading,
  to: Reading,
  currency: string,
): MrrChangesAnswer["readings"] {
  const before = sumsOf(from);
  const after = sumsOf(to);
  const show = ({ mrr, accounts }: Sums) => ({
    mrr: showMrr(mrr, currency),
    mrr_exact: exactMrr(mrr),
    active_subscribers: Number(accounts),
  });
  return {
    at: new Date(at).toISOString(),
    currency,
    from: { known_at: new Date(from.knownAt).toISOString(), ...show(before) },
    to: { known_at: new Date(to.knownAt).toISOString(), ...show(after) },
    difference: show({ mrr: after.mrr - before.mrr, accounts: after.accounts - before.accounts }),
  };
}

interface Sums {
  /** millionths */
  readonly mrr: bigint;
  readonly accounts: bigint;
}

function sumsOf({ rows }: Reading): Sums {
  return {
    mrr: rows.reduce((sum, row) => sum + mrrOf(row.mrr), 0n),
    accounts: rows.reduce((sum, row) => sum + BigInt(row.accounts), 0n),
  };
}

export function presentMrrChange(
  row: MrrChangeRow,
  catalogue: Catalogue,
  currency: string,
): MrrChangeView {
  return {
    event_id: row.event_id,
    recorded_at: timeText(row.recorded_at_ms),
    account: row.account,
    ...presentMovementPlace(row, catalogue),
    at: timeText(row.at_ms),
    mrr: showMrr(mrrOf(row.mrr), currency),
    mrr_exact: exactMrr(mrrOf(row.mrr)),
    active_subscribers: Number(row.accounts),
  };
}

export function presentMovementPlace(
  row: Pick<MrrChangeRow, "provider" | "subscription" | "external_id" | "currency" | "country"> &
    Pick<MrrChangeRow, "kind" | "vintage">,
  catalogue: Catalogue,
) {
  const { subscription, external_id, currency, country, vintage } = row;
  const product = catalogue.productOf({ provider: row.provider, externalId: external_id });
  const { shape } = mrrChange;
  return {
    provider: shape.provider.parse(row.provider),
    subscription,
    product_id: product.id,
    product_name: product.name,
    external_id,
    currency,
    country,
    kind: shape.kind.parse(row.kind),
    vintage,
  };
}
