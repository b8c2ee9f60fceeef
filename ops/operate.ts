/**
 * Commands for when the service is stopped: `npm run ops -- <command>`. They open the same stores
 * and refuse while a process works on the data folder. Exit codes: 0 all is right, 1 differences
 * were found, 2 it could not run.
 */
import { parseArgs } from "node:util";
import { rebuildMovements } from "../backends/audit-movements.js";
import { openService } from "../backends/open.js";
import { Releases } from "../backends/releases.js";
import type { Service } from "../backends/service.js";
import { createLogger, type Logger } from "../backends/logger.js";
import { type Config, readConfig } from "../config.js";
import type { AuditFinding } from "../schemas/audit.js";
import { backfill } from "./backfill.js";
import { replay } from "./replay.js";

/** What the processors do; handed in, because roles do not know each other. */
export interface Steps {
  audit(
    service: Service,
    options: {
      readonly workspace: string | null;
      readonly repair: boolean;
      readonly shareMax: number;
    },
  ): Promise<AuditFinding[]>;
  /** Starts the consumers of the log. */
  startProcessors(service: Service): Promise<void>;
}

/** The words are wrong; the message says which there are. */
class UsageError extends Error {
  override readonly name = "UsageError";
}

const usage = `npm run ops -- audit [--workspace <id>] [--repair]
npm run ops -- rebuild [--workspace <id>]
npm run ops -- replay [--from <time>]
npm run ops -- backfill --integration <id> --from <time>`;

/** @returns the exit code */
export async function operate(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  steps: Steps,
): Promise<number> {
  try {
    const config = readConfig(env);
    return await run(readWords(words), config, createLogger("warn"), steps);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  }
}

async function run(
  { command, options }: Order,
  config: Config,
  logger: Logger,
  steps: Steps,
): Promise<number> {
  const from = options.from === undefined ? null : timeOf(options.from);
  const releases = new Releases(logger);
  try {
    const { service } = await openService(config, { logger, releases });
    const workspace = options.workspace ?? null;
    if (command === "audit") {
      const repair = options.repair ?? false;
      const found = await steps.audit(service, { workspace, repair, shareMax: 1 });
      return tellFindings(found, repair);
    }
    if (command === "rebuild") {
      const slices = await rebuildMovements(service.clickhouse, workspace);
      tell(`Movements are what the changes say they should be (${slices} slices of accounts).`);
      return 0;
    }
    if (command === "backfill") {
      const { integration } = options;
      if (integration === undefined || from === null) throw new UsageError(usage);
      const asked = { integration, from };
      return await backfill(service, asked, {
        startProcessors: (opened) => steps.startProcessors(opened),
        tell,
      });
    }
    await replay(service, from, {
      startProcessors: (opened) => steps.startProcessors(opened),
      tell,
    });
    return 0;
  } finally {
    await releases.release();
  }
}

type Command = "audit" | "rebuild" | "replay" | "backfill";

const commands: Readonly<Record<Command, readonly string[]>> = {
  audit: ["workspace", "repair"],
  rebuild: ["workspace"],
  replay: ["from"],
  backfill: ["integration", "from"],
};

interface Order {
  readonly command: Command;
  readonly options: {
    readonly workspace?: string;
    readonly repair?: boolean;
    readonly from?: string;
    readonly integration?: string;
  };
}

/** @throws UsageError */
function readWords(words: readonly string[]): Order {
  const [name, ...args] = words;
  if (name === undefined || !isCommand(name)) throw new UsageError(usage);
  try {
    const { values } = parseArgs({
      args,
      options: {
        workspace: { type: "string" },
        repair: { type: "boolean" },
        from: { type: "string" },
        integration: { type: "string" },
      },
    });
    const foreign = Object.keys(values).filter((option) => !commands[name].includes(option));
    if (foreign.length > 0) throw new UsageError(usage);
    return { command: name, options: values };
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`${error.message}\n${usage}`);
    throw error;
  }
}

function isCommand(name: string): name is Command {
  return Object.hasOwn(commands, name);
}

/** ms since 1970. @throws UsageError */
function timeOf(text: string): number {
  const time = Date.parse(text);
  if (Number.isNaN(time)) throw new UsageError(`${text} is no time; for example 2026-11-01T00:00Z`);
  return time;
}

function tellFindings(found: readonly AuditFinding[], repair: boolean): number {
  const wrong = found.filter(({ differences }) => differences > 0);
  const rows = found.reduce((sum, finding) => sum + finding.rows, 0);
  for (const { examples, ...finding } of wrong) {
    const { workspace, environment, table, differences, amount } = finding;
    tell(`${workspace} ${environment} ${table}: ${differences} rows differ, by ${amount} in all`);
    for (const { subject, at, what, amount: by } of examples) {
      tell(`  ${subject} ${at} ${what}${by === null ? "" : ` ${by}`}`);
    }
  }
  if (wrong.length === 0) tell(`Everything is as it should be (${rows} rows compared).`);
  else if (repair) tell("The differences were added. Audit again to see that nothing is left.");
  return wrong.length === 0 ? 0 : 1;
}

function tell(line: string): void {
  process.stdout.write(`${line}\n`);
}
