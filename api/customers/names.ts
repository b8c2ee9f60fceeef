/**
 * Names of customers in answers to members (`definitions.md`, Customers). API keys never get them,
 * nor do members whom the workspace does not allow to see them.
 */
import type { Context } from "koa";
import { z } from "zod";
import {
  type CustomerReader,
  customersOf,
  unknownCustomer,
} from "../../workspaces/customers/stored.js";
import { includesRole } from "../../workspaces/members/roles.js";
import type { Customer } from "../../schemas/http/customers.js";
import type { Access } from "../../workspaces/keys.js";
import { type ExportRow, columnsOf } from "../exports/columns.js";
import type { Table } from "../exports/send.js";

export interface CustomersAsked {
  readonly ctx: Pick<Context, "state">;
  readonly access: Pick<Access, "workspace" | "environment">;
}

export function seesCustomers({ ctx, access }: CustomersAsked): boolean {
  const { caller } = ctx.state;
  if (caller?.kind !== "member") return false;
  const membership = caller.session.memberships.get(access.workspace);
  if (membership === undefined) return false;
  const { customerDetails: details, role } = membership;
  return details === "members" || (details === "admins" && includesRole(role, "admin"));
}

type Named<Row> = Row | (Row & { readonly customer: Customer | null });

/** Rows of accounts: for a member with `customer`, for a key without. */
export async function withCustomers<Row>(
  reader: CustomerReader,
  asked: CustomersAsked,
  rows: readonly Row[],
  accountOf: (row: Row) => unknown,
): Promise<readonly Named<Row>[]> {
  if (asked.ctx.state.caller?.kind !== "member") return rows;
  if (!seesCustomers(asked)) return rows.map((row) => ({ ...row, customer: null }));
  const customerOf = await readCustomers(reader, asked, rows.map(accountOf));
  return rows.map((row) => ({ ...row, customer: customerOf(accountOf(row)) }));
}

/** A guest has no account. */
async function readCustomers(
  reader: CustomerReader,
  { access }: CustomersAsked,
  accounts: readonly unknown[],
): Promise<(account: unknown) => Customer | null> {
  const known = await customersOf(reader, access, accounts.filter(isAccount));
  return (account) => (isAccount(account) ? (known.get(account) ?? unknownCustomer) : null);
}

function isAccount(account: unknown): account is string {
  return typeof account === "string" && account !== "";
}

const text = z.string().nullable();
const columns = columnsOf(
  z.object({ customer_id: text, customer_name: text, customer_email: text, customer_url: text }),
);

/**
 * A table as the caller may see it: with the columns of customers, or without.
 * @param accountOf left out where rows are of none
 */
export function customersTable<Row extends ExportRow>(
  reader: CustomerReader,
  asked: CustomersAsked,
  table: Table,
  accountOf: ((row: Row) => unknown) | undefined,
): { readonly table: Table; named(rows: readonly Row[]): Promise<readonly ExportRow[]> } {
  if (accountOf === undefined || !seesCustomers(asked))
    return { table, named: async (rows) => rows };
  return {
    table: { ...table, columns: [...table.columns, ...columns] },
    named: (rows) => rowsWithCustomers(reader, asked, rows, accountOf),
  };
}

async function rowsWithCustomers<Row extends ExportRow>(
  reader: CustomerReader,
  asked: CustomersAsked,
  rows: readonly Row[],
  accountOf: (row: Row) => unknown,
): Promise<readonly ExportRow[]> {
  const customerOf = await readCustomers(reader, asked, rows.map(accountOf));
  return rows.map((row) => {
    const { id, name, email, provider_url: url } = customerOf(accountOf(row)) ?? unknownCustomer;
    const whom = { customer_id: id, customer_name: name, customer_email: email, customer_url: url };
    return { ...row, ...whom };
  });
}
