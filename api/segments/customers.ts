/** Lists of customers, as members upload them: which accounts their lines stand for. */
import type { Tenant } from "../../schemas/records/records.js";
import { unprocessable } from "../../schemas/http/errors.js";
import { limits } from "../../config.js";
import { providerTokens } from "../../schemas/provider-tokens.js";
import type { Service } from "../../service.js";
import type { HashAccount } from "../../stores/vault/account-hash.js";
import { accountsCalledAny } from "../../workspaces/customers/stored.js";
import { knownAccountsQuery } from "../accounts/search.js";
import { clocksOf, rowsOf } from "../reading/reading.js";

export interface CustomerList {
  /** Keyed hashes, each once. */
  readonly accounts: readonly string[];
  /** Lines that belong to no account. */
  readonly unmatched: readonly string[];
}

/** Accounts one statement is asked about. */
const accountsAtOnceMax = 20_000;
const lineLengthMax = 255;

/**
 * The first column of each line. A header is left out.
 * @throws ApiError 422
 */
export function namesIn(text: string): string[] {
  const cells = text
    .split(/\r\n|\r|\n/)
    .map(firstCell)
    .filter((cell) => cell !== "");
  const names = [...new Set(isHeader.test(cells[0] ?? "") ? cells.slice(1) : cells)];
  const max = limits.segmentAccountsMax;
  if (names.length === 0) throw listInvalid("The list is empty.");
  if (names.length > max) throw listInvalid(`The list has ${names.length} lines, ${max} at most.`);
  const long = names.find((name) => name.length > lineLengthMax);
  if (long === undefined) return names;
  throw listInvalid(`A line has more than ${lineLengthMax} characters: ${long.slice(0, 50)}…`);
}

const isHeader = /^(id|customer|account|e-?mail)([ _-]?(id|e-?mail|address))?$/i;

function firstCell(line: string): string {
  const quoted = /^\s*"((?:[^"]|"")*)"/.exec(line.replace(/^\ufeff/, ""));
  if (quoted !== null) return (quoted[1] ?? "").replaceAll('""', '"').trim();
  return (line.replace(/^\ufeff/, "").split(/[,;\t]/)[0] ?? "").trim();
}

/**
 * By the id of the account, by the provider's own id, and, for who may see customers, by the id or
 * the e-mail that is kept of them.
 *
 * @param seesNames whether what is kept may be asked
 */
export async function listedAccounts(
  service: Pick<Service, "clickhouse" | "postgres" | "watermark">,
  hash: HashAccount,
  tenant: Tenant,
  names: readonly string[],
  seesNames: boolean,
): Promise<CustomerList> {
  const { workspace, environment } = tenant;
  // An account may be meant by several lines, and a line mean several accounts.
  const linesOf = new Map<string, Set<string>>();
  const mean = (account: string, line: string) => {
    const lines = linesOf.get(account) ?? new Set();
    linesOf.set(account, lines.add(line));
  };
  for (const line of names) {
    mean(line, line);
    for (const id of new Set([line, line.toLowerCase()])) {
      for (const provider of providerTokens) mean(hash(workspace, environment, provider, id), line);
    }
  }
  const { reach } = await clocksOf(service, tenant);
  const asOf = { ...tenant, at: reach, knownAt: Date.now() };
  const candidates = [...linesOf.keys()];
  const known = new Set<string>();
  for (let from = 0; from < candidates.length; from += accountsAtOnceMax) {
    const some = candidates.slice(from, from + accountsAtOnceMax);
    const query = knownAccountsQuery(asOf, some);
    for (const { account } of await rowsOf<{ account: string }>(service, query)) known.add(account);
  }
  const called = seesNames
    ? await accountsCalledAny({ postgres: service.postgres, hashAccount: hash }, tenant, names)
    : [];
  for (const { account, name } of called) {
    mean(account, name);
    known.add(account);
  }
  const matched = new Set([...known].flatMap((account) => [...(linesOf.get(account) ?? [])]));
  if (known.size > limits.segmentAccountsMax) {
    const max = limits.segmentAccountsMax;
    throw listInvalid(`The lines belong to ${known.size} accounts, ${max} at most.`);
  }
  return {
    accounts: [...known].toSorted(),
    unmatched: names.filter((name) => !matched.has(name)),
  };
}

function listInvalid(message: string) {
  return unprocessable("customers_invalid", message, "customers");
}
