/**
 * Commands for when the service is stopped: `npm run ops -- <command>`. They open the same stores
 * and refuse while a process works on the data folder. Exit codes: 0 all is right, 1 differences
 * were found, 2 it could not run.
 */
import { openService } from "../runtime/start/open.js";
import { Releases } from "../runtime/releases.js";
import type { Service } from "../service.js";
import { createLogger } from "../runtime/logger.js";
import { type Config, readConfig } from "../config.js";
import { parseWords, UsageError } from "./command-line.js";
import { type Command, commands, usage } from "./commands.js";
import { type OpenedAs, type Options, optionTypes, type Steps } from "./given.js";

/** @returns the exit code */
export async function operate(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  steps: Steps,
): Promise<number> {
  if (words.includes("--help") || words[0] === "help") {
    report(usage);
    return 0;
  }
  const installation = new Installation();
  const signs = signsOfLife(words[0] ?? "");
  try {
    const { command, options } = readWords(words);
    const config = readConfig(env);
    const open = installation.open.bind(installation);
    const close = installation.close.bind(installation);
    const say = (line: string): void => {
      signs.refresh();
      report(line);
    };
    return await commands[command].run({ config, options, steps, open, close, report: say });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return 2;
  } finally {
    clearInterval(signs);
    await installation.close();
  }
}

/** A line whenever the command has said nothing for a while. On standard error, as the log is. */
function signsOfLife(command: string): NodeJS.Timeout {
  const startedAt = performance.now();
  return setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`${command}: at work for ${seconds} s\n`);
  }, signEveryMs);
}

const signEveryMs = 10_000;

/** One at a time: the engine in this process opens one folder. */
class Installation {
  readonly #logger = createLogger("warn", { role: "ops", descriptor: 2 });
  #releases = new Releases(this.#logger);

  async open(config: Config, options: OpenedAs = {}): Promise<Service> {
    const { restoring = false, replaying = false, alone = restoring, logUse } = options;
    // A restore fills one that is new; anywhere else a new one means a wrong DATA_DIR.
    const existing = !restoring;
    const { service } = await openService(config, {
      logger: this.#logger,
      releases: this.#releases,
      restoring,
      replaying,
      alone,
      existing,
      logUse,
    });
    return service;
  }

  async close(): Promise<void> {
    const releases = this.#releases;
    this.#releases = new Releases(this.#logger);
    await releases.release();
  }
}

/** @throws UsageError */
function readWords(words: readonly string[]): { command: Command; options: Options } {
  const [name, ...args] = words;
  if (name === undefined) throw new UsageError(usage);
  if (!isCommand(name)) throw new UsageError(usage, `There is no command ${name}.`);
  const { values } = parseWords(usage, { args, options: optionTypes });
  const foreign = Object.keys(values).find((option) => !isOf(name, option));
  if (foreign !== undefined) throw new UsageError(usage, `${name} takes no --${foreign}.`);
  return { command: name, options: values };
}

function isCommand(name: string): name is Command {
  return Object.hasOwn(commands, name);
}

function isOf(command: Command, option: string): boolean {
  return commands[command].options.some((known) => known === option);
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}
