/** The commands of `npm run ops` and their options; few load what knows providers. */
import { z } from "zod";
import type { Service } from "../service.js";
import { findWorkspace } from "../workspaces/workspaces.js";
import type { AuditFinding } from "../schemas/audit.js";
import { backup, restore } from "./backup.js";
import { UsageError } from "./command-line.js";
import { replay, replayRejected } from "./replay.js";
import { signInLink } from "./sign-in-link.js";
import { rotateKey } from "./rotate-key.js";
import { sqlUser } from "./sql-user.js";
import type { Given, Options } from "./given.js";

export const usage = `npm run ops -- audit [--workspace <id>] [--repair]
npm run ops -- rebuild [--workspace <id>]
npm run ops -- replay [--from <time>] [--rejected]
npm run ops -- backfill --integration <id> --from <time> [--ids <file>]
npm run ops -- backfill --integration <id> --from <time> --file <file or folder> [--apply]
npm run ops -- reports --integration <id> --file <file or folder> [--apply]
npm run ops -- backup --to <folder> [--keep <number>] [--with-key]
npm run ops -- restore --from <backup>
npm run ops -- move --to <settings file> --through <folder>
npm run ops -- rotate-key
npm run ops -- sign-in-link
npm run ops -- sql-user --workspace <id> [--apply]
npm run ops -- servers [postgres|clickhouse|kafka…] [--folder <path>]`;

export type Command =
  | "audit"
  | "rebuild"
  | "replay"
  | "backfill"
  | "reports"
  | "backup"
  | "restore"
  | "move"
  | "rotate-key"
  | "sign-in-link"
  | "sql-user";

interface Runnable {
  readonly options: readonly (keyof Options)[];
  /** @returns the exit code */
  run(given: Given): Promise<number>;
}

export const commands: Readonly<Record<Command, Runnable>> = {
  audit: {
    options: ["workspace", "repair"],
    async run({ config, options, steps, open, report }) {
      const { repair = false } = options;
      const service = await open(config, { alone: repair });
      const workspace = await workspaceOf(service, options);
      if (repair) await steps.writeQueued(service);
      const found = await steps.audit(service, { workspace, repair, shareMax: 1 });
      return reportFindings(found, repair, report);
    },
  },
  rebuild: {
    options: ["workspace"],
    async run({ config, options, steps, open, report }) {
      // Tables that lost their rows are what it is for.
      const service = await open(config, { alone: true, replaying: true });
      const workspace = await workspaceOf(service, options);
      await steps.writeQueued(service);
      await steps.rebuild(service, workspace, report);
      return 0;
    },
  },
  replay: {
    options: ["from", "rejected"],
    async run({ config, options, steps, open, report }) {
      const from = options.from === undefined ? null : timeOf(options.from);
      const again = options.rejected === true ? replayRejected : replay;
      const replaying = options.rejected !== true;
      const service = await open(config, { alone: replaying, replaying });
      await again(service, from, { startProcessors: () => steps.startProcessors(service), report });
      return 0;
    },
  },
  backfill: {
    options: ["integration", "from", "file", "apply", "ids"],
    async run({ config, options, steps, open, report }) {
      const from = timeOf(given("from", options));
      const asked = { integration: given("integration", options), from };
      const { startProcessors } = steps;
      const { file, apply = false, ids = null } = options;
      if (file !== undefined && ids !== null) throw new UsageError(usage, "--file takes no --ids.");
      const service = await open(config);
      if (file === undefined) {
        const { backfill } = await import("./backfill.js");
        return backfill(service, { ...asked, ids }, { startProcessors, report });
      }
      const { backfillFile } = await import("./backfill-file.js");
      return backfillFile(service, { ...asked, file, apply }, { startProcessors, report });
    },
  },
  reports: {
    options: ["integration", "file", "apply"],
    async run({ config, options, open, report }) {
      const asked = { integration: given("integration", options), file: given("file", options) };
      const { reports } = await import("./reports.js");
      return reports(await open(config), { ...asked, apply: options.apply ?? false }, report);
    },
  },
  backup: {
    options: ["to", "keep", "with-key"],
    async run({ config, options, open, report }) {
      const to = given("to", options);
      const keep = options.keep === undefined ? null : countOf(options.keep);
      await backup(config, { to, keep, withKey: options["with-key"] ?? false }, open, report);
      return 0;
    },
  },
  restore: {
    options: ["from"],
    async run({ config, options, open, report }) {
      await restore(config, given("from", options), open, report);
      return 0;
    },
  },
  move: {
    options: ["to", "through"],
    async run({ config, options, open, close, report }) {
      const words = { to: given("to", options), through: given("through", options) };
      const { move } = await import("./move.js");
      await move(config, words, { open, close, report });
      return 0;
    },
  },
  "sign-in-link": {
    options: [],
    async run({ config, report }) {
      report(await signInLink(config));
      return 0;
    },
  },
  "rotate-key": {
    options: [],
    run: async ({ config, open, report }) => rotateKey(await open(config), report),
  },
  "sql-user": {
    options: ["workspace", "apply"],
    async run({ config, options, open, report }) {
      given("workspace", options);
      const service = await open(config);
      const workspace = (await workspaceOf(service, options)) ?? "";
      await sqlUser(service, { workspace, apply: options.apply ?? false }, report);
      return 0;
    },
  },
};

/** @throws UsageError */
function given(
  name: "file" | "from" | "integration" | "through" | "to" | "workspace",
  options: Options,
): string {
  const { [name]: option } = options;
  if (option === undefined) throw new UsageError(usage, `--${name} is missing.`);
  return option;
}

/** Null: all. @throws UsageError: of one that does not exist everything would be right */
async function workspaceOf(
  { postgres }: Pick<Service, "postgres">,
  options: Options,
): Promise<string | null> {
  const { workspace = null } = options;
  if (workspace === null || (await findWorkspace(postgres, workspace)) !== null) return workspace;
  throw new UsageError(usage, `There is no workspace ${workspace}.`);
}

/** A day, or a date-time that says its offset: what it means must not depend on the machine. */
const moment = z.union([
  z.iso.date(),
  z.iso.datetime({ offset: true }),
  z.iso.datetime({ offset: true, precision: -1 }), // to the minute
]);

/** ms since 1970. @throws UsageError */
function timeOf(text: string): number {
  if (moment.safeParse(text).success) return Date.parse(text);
  throw new UsageError(
    usage,
    `${text} is no time in UTC; for example 2026-11-01 or 2026-11-01T00:00Z`,
  );
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new UsageError(usage, `${text} is no number of backups to keep`);
}

function reportFindings(
  found: readonly AuditFinding[],
  repair: boolean,
  report: (line: string) => void,
): number {
  const wrong = found.filter(({ differences }) => differences > 0);
  const rows = found.reduce((sum, finding) => sum + finding.rows, 0);
  for (const { examples, ...finding } of wrong) {
    const { workspace, environment, table, differences, amount } = finding;
    report(`${workspace} ${environment} ${table}: ${differences} rows differ, by ${amount} in all`);
    for (const { subject, at, what, amount: by } of examples) {
      report(`  ${subject} ${at} ${what}${by === null ? "" : ` ${by}`}`);
    }
  }
  if (wrong.length === 0) report(`No differences (${rows} rows compared).`);
  else if (repair) report("The differences were added. Run the audit again to confirm.");
  return wrong.length === 0 ? 0 : 1;
}
