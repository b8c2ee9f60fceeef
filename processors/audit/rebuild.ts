/**
 * Makes all rows of the tables again from the state: adds what is missing, and corrects what is
 * wrong by a difference. If interrupted, it is run again. Nothing may be booking.
 */
import { accountSlices, eachOf, movementTables, tenantsOf } from "./account-slices.js";
import { endedFinding, moneyFindings } from "./audit.js";
import { repairSlice } from "./movements.js";
import { compareWithState, type StateService } from "./state.js";
import type { Tenant } from "../../schemas/records/records.js";

type Report = (line: string) => void;

const options = { repair: true, shareMax: 1 };
const noRest = async (): Promise<void> => {};
const slicesPerLine = 10;

/** @param workspace null: every workspace */
export async function rebuild(
  service: StateService,
  workspace: string | null,
  report: Report,
): Promise<void> {
  const held = await compareWithState(service, { workspace, repair: true }, noRest);
  const added = held.reduce((sum, { differences }) => sum + differences, 0);
  const rows = held.reduce((sum, finding) => sum + finding.rows, 0);
  report(`The state holds ${rows} facts and changes; ${added} were missing and are added.`);
  await rebuildMovements(service, workspace, report);
  await rebuildMoney(service, workspace, report);
}

export async function rebuildMovements(
  service: Pick<StateService, "clickhouse" | "watermark">,
  workspace: string | null,
  report: Report,
): Promise<void> {
  const { clickhouse } = service;
  const tenants = await tenantsOf(clickhouse, movementTables, workspace);
  const ends = await differencesOf(tenants, (tenant) => endedFinding(service, options, tenant));
  if (ends > 0) report(`Ended subscriptions that had gone to another account (${ends}).`);
  let slices = 0;
  for (const tenant of tenants) {
    // While one slice is worked out, the engine reads or writes another.
    await eachOf(accountSlices(clickhouse, tenant), [1, 2], async (slice) => {
      await repairSlice(clickhouse, slice);
      slices += 1;
      if (slices % slicesPerLine === 0) report(`${slices} slices of accounts are done.`);
    });
  }
  report(`Movements are what the changes say they should be (${slices} slices of accounts).`);
}

async function rebuildMoney(
  service: Pick<StateService, "clickhouse" | "watermark">,
  workspace: string | null,
  report: Report,
): Promise<void> {
  const tables = ["money_facts", "ledger", "transactions"];
  const tenants = await tenantsOf(service.clickhouse, tables, workspace);
  const added = await differencesOf(tenants, async (tenant) => {
    const findings = await moneyFindings(service, options, tenant);
    return { differences: findings.reduce((sum, { differences }) => sum + differences, 0) };
  });
  report(`Transactions and ledger are what the facts say they should be (${added} rows differed).`);
}

async function differencesOf(
  tenants: readonly Tenant[],
  repair: (tenant: Tenant) => Promise<{ readonly differences: number }>,
): Promise<number> {
  let sum = 0;
  for (const tenant of tenants) sum += (await repair(tenant)).differences;
  return sum;
}
