/**
 * Compares the tables of each workspace and environment with the state, and each row with what
 * follows from its sources. It works in bounded slices with rests, so that it can run beside
 * booking. A repair may not.
 */
import { setTimeout as pause } from "node:timers/promises";
import {
  accountSlices,
  eachOf,
  movementTables,
  type SizedTenant,
  tenantGroups,
  tenantSql,
  tenantsOf,
} from "./account-slices.js";
import { areAllRight, auditSlice, repairSlice, type SliceFinding } from "./movements.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import type { ClickHouse } from "../../stores/clickhouse/clickhouse.js";
import { limits } from "../../config.js";
import type { AuditedTable, AuditFinding } from "../../schemas/audit.js";
import { decimalText, parseDecimal, powerOfTen } from "../../schemas/money/money.js";
import { auditLedger, auditVersions } from "./ledger.js";
import { paymentSlices, paymentsIn } from "./money.js";
import { compareWithState, type HeldFinding, type StateService } from "./state.js";
import { endsFinding, missingEnds, sharedSlices } from "./transfers.js";
import { insertChanges } from "../book/subscriptions/changes.js";
import { paymentVersions } from "../book/payment/payment-versions.js";
import type { Tenant } from "../../schemas/records/records.js";

export type AuditService = StateService;

export interface AuditOptions {
  /** Null: every workspace. */
  readonly workspace: string | null;
  readonly repair: boolean;
  /** The share of time it may take, up to 1. */
  readonly shareMax: number;
  /** Changes and movements in one statement; default: `limits.auditSliceRows`. */
  readonly sliceRowsMax?: number;
  /** Aborted: it ends with an exception before the next slice. */
  readonly stop?: AbortSignal;
}

/** @returns one finding for each workspace, environment and table that has rows */
export async function audit(service: AuditService, options: AuditOptions): Promise<AuditFinding[]> {
  const tables = [...movementTables, "money_facts", "ledger", "transactions"];
  const { clickhouse } = service;
  // Everything else follows from these rows.
  const statePace = new Pace(options);
  const held = await compareWithState(service, options, () => statePace.rest());
  const findings: AuditFinding[] = held
    .filter(({ table }) => table === "unidentified_sides")
    .map((found) => ({ ...found, amount: "0" }));
  const stored = await tenantsOf(clickhouse, tables, options.workspace);
  const named = new Map([...stored, ...held].map((one) => [tenantSql(one), tenantOf(one)]));
  const tenants = [...named.values()];
  for (const group of await tenantGroups(clickhouse, tenants, options.sliceRowsMax)) {
    const pace = new Pace(options);
    const isRight = group.length > 1 && (await areAllRight(clickhouse, group));
    await pace.rest();
    for (const tenant of group) {
      const ended = await endedFinding(service, options, tenant);
      findings.push(plusHeld(ended, held));
      // An end that is added changes what should be recorded.
      findings.push(
        isRight && ended.differences === 0
          ? rightMovements(tenant)
          : await movementsFinding(service, options, tenant),
      );
      findings.push(plusHeld(emptyFinding(tenant, "money_facts"), held));
      findings.push(...(await moneyFindings(service, options, tenant)));
    }
  }
  return findings;
}

/** Ends that no event reported and that movements follow from. Checked before the movements. */
export async function endedFinding(
  { clickhouse, watermark }: Pick<AuditService, "clickhouse" | "watermark">,
  options: Pick<AuditOptions, "repair" | "shareMax" | "stop">,
  tenant: Tenant,
): Promise<AuditFinding> {
  let finding = emptyFinding(tenant, "subscription_changes");
  const pace = new Pace(options);
  for await (const shared of sharedSlices(clickhouse, tenant)) {
    const found = await missingEnds(clickhouse, shared, () => watermark.completeTo());
    if (options.repair) await insertChanges(clickhouse, found.missing);
    finding = plus(finding, endsFinding(found));
    await pace.rest();
  }
  return finding;
}

async function movementsFinding(
  service: AuditService,
  options: AuditOptions,
  tenant: Tenant,
): Promise<AuditFinding> {
  const { clickhouse, watermark } = service;
  let finding = emptyFinding(tenant, "mrr_movements");
  const slices = accountSlices(clickhouse, tenant, options.sliceRowsMax);
  // One statement at a time leaves room for booking; an audit that may take all runs two.
  const paces = Array.from({ length: options.shareMax < 1 ? 1 : 2 }, () => new Pace(options));
  await eachOf(slices, paces, async (slice, pace) => {
    const found = await auditSlice(clickhouse, slice, () => watermark.completeTo());
    if (options.repair && found.differences > 0) await repairSlice(clickhouse, slice);
    finding = plus(finding, found);
    await pace.rest();
  });
  return finding;
}

function rightMovements(tenant: SizedTenant): AuditFinding {
  return { ...emptyFinding(tenant, "mrr_movements"), rows: tenant.movements };
}

export async function moneyFindings(
  { clickhouse, watermark }: Pick<AuditService, "clickhouse" | "watermark">,
  options: Pick<AuditOptions, "repair" | "shareMax" | "stop">,
  tenant: Tenant,
): Promise<AuditFinding[]> {
  let ledger = emptyFinding(tenant, "ledger");
  let transactions = emptyFinding(tenant, "transactions");
  const knownTo = await watermark.completeTo();
  const stored = await versionsStored(clickhouse, tenant, knownTo);
  const pace = new Pace(options);
  let read = 0;
  for await (const slice of paymentSlices(clickhouse, tenant, knownTo)) {
    const payments = (await paymentsIn(clickhouse, slice)).map(({ facts, ...name }) => ({
      ...name,
      ...paymentVersions(name.payment, facts),
    }));
    ledger = plus(ledger, await auditLedger(clickhouse, slice, payments, options.repair));
    const versions = await auditVersions(clickhouse, slice, payments, options.repair);
    transactions = plus(transactions, versions);
    read += versions.stored;
    await pace.rest();
  }
  if (stored !== read) transactions = plus(transactions, strayVersions(stored - read, knownTo));
  return [ledger, transactions];
}

/** Versions that lie where no payment has any. */
function strayVersions(count: number, knownTo: number): SliceFinding {
  const at = new Date(knownTo).toISOString();
  const example = { subject: "", at, what: "versions of unknown payments", amount: null };
  return { rows: count, differences: count, amount: "0", examples: [example] };
}

async function versionsStored(
  clickhouse: Pick<ClickHouse, "rows">,
  tenant: Tenant,
  knownTo: number,
): Promise<number> {
  const [row] = await clickhouse.rows<{ stored: string }>(
    `SELECT count() AS stored FROM transactions
     WHERE ${tenantSql(tenant)} AND recorded_at <= '${clickhouseTime(knownTo)}'`,
  );
  return Number(row?.stored ?? 0);
}

class Pace {
  #began = Date.now();

  constructor(private readonly options: Pick<AuditOptions, "shareMax" | "stop">) {}

  async rest(): Promise<void> {
    const { shareMax, stop } = this.options;
    const took = Date.now() - this.#began;
    const restMs = took / shareMax - took;
    if (restMs > 0) await pause(restMs, undefined, stop === undefined ? {} : { signal: stop });
    stop?.throwIfAborted();
    this.#began = Date.now();
  }
}

function emptyFinding(tenant: Tenant, table: AuditedTable): AuditFinding {
  return { ...tenantOf(tenant), table, rows: 0, differences: 0, amount: "0", examples: [] };
}

function plus(sum: AuditFinding, found: SliceFinding): AuditFinding {
  return {
    ...sum,
    rows: sum.rows + found.rows,
    differences: sum.differences + found.differences,
    amount: decimalSum(sum.amount, found.amount),
    examples: [...sum.examples, ...found.examples].slice(0, limits.auditExamplesMax),
  };
}

function tenantOf({ workspace, environment }: Tenant): Tenant {
  return { workspace, environment };
}

function plusHeld(finding: AuditFinding, held: readonly HeldFinding[]): AuditFinding {
  const same = held.find(
    ({ workspace, environment, table }) =>
      workspace === finding.workspace &&
      environment === finding.environment &&
      table === finding.table,
  );
  return same === undefined ? finding : plus(finding, { ...same, amount: "0" });
}

function decimalSum(one: string, other: string): string {
  const [a, b] = [parseDecimal(one), parseDecimal(other)];
  if (a === null || b === null) throw new Error(`not decimals: ${one}, ${other}`);
  const scale = Math.max(a.scale, b.scale);
  const digits = a.digits * powerOfTen(scale - a.scale) + b.digits * powerOfTen(scale - b.scale);
  return decimalText({ digits, scale });
}
