/**
 * `npm run bench [names…]`: measures the running service on this machine, some numbers beside
 * their floor from the same run (docs/benchmarks.md). Missing a target is a result, not an error.
 */
import { backfill } from "./bench/backfill.js";
import { cost } from "./bench/cost.js";
import { type Figure, type Options, tableOf } from "./bench/figures.js";
import { movements } from "./bench/movements.js";
import { postgres } from "./bench/postgres/postgres.js";
import { processors } from "./bench/processors.js";
import { queries } from "./bench/queries.js";
import { readers } from "./bench/readers.js";
import { receivers } from "./bench/receivers.js";
import { servers } from "./bench/servers.js";
import { sockets } from "./bench/sockets.js";
import { start } from "./bench/start.js";
import { web } from "./bench/web.js";
import { countOf, readWords, refuseWords } from "./command-line.js";

type Benchmark = (options: Options) => Promise<Figure[]>;

const usual: Readonly<Record<string, Benchmark>> = { start, queries, movements, processors };
/** These need more than Node and run when they are named. */
const onRequest: Readonly<Record<string, Benchmark>> = {
  cost,
  web,
  servers,
  postgres,
  backfill,
  sockets,
  readers,
  receivers,
};
const benchmarks = new Map(Object.entries({ ...usual, ...onRequest }));

/** What runs in a process of its own: this program again, with `--child <name>`. */
const children = new Map<string, () => Promise<{ run(words: readonly string[]): Promise<void> }>>([
  ["sockets-floor", () => import("./bench/sockets-floor.js")],
  ["fill", () => import("./bench/fill.js")],
  ["readers-load", () => import("./bench/load.js")],
  ["naive-consumer", () => import("./bench/postgres/naive-consumer.js")],
]);

const usage = `npm run bench -- [names…] [options]
  names: ${[...benchmarks.keys()].join(", ")};
         ${Object.keys(usual).join(", ")} when none is given
  --seconds <n>   of load, in cost, servers and receivers (60)
  --rounds <n>    medians are over these (5)
  --events <n>    in processors and backfill (7200)
  --rows <n>      of each table, in queries, web, movements, postgres and readers (1000000)
  --rate <n>      webhooks a second, in servers (1000)
  --profile <folder>  for CPU profiles of the service
Results: docs/benchmarks.md
`;

const { values, positionals } = readWords(usage, {
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: "60" },
    rounds: { type: "string", default: "5" },
    events: { type: "string", default: "7200" },
    rows: { type: "string", default: "1000000" },
    rate: { type: "string", default: "1000" },
    profile: { type: "string" },
    child: { type: "string" },
  },
});

// The exit handlers of bench/processes.ts end what was started.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

if (values.child === undefined) await runBenchmarks();
else await runChild(values.child);

async function runBenchmarks(): Promise<void> {
  const options: Options = {
    seconds: countOf(usage, "seconds", values.seconds, 3_600),
    rounds: countOf(usage, "rounds", values.rounds, 100),
    events: countOf(usage, "events", values.events, 100_000),
    rows: countOf(usage, "rows", values.rows, 50_000_000),
    rate: countOf(usage, "rate", values.rate, 10_000),
    profileFolder: values.profile ?? null,
  };
  const names = positionals.length > 0 ? positionals : Object.keys(usual);
  const unknown = names.filter((name) => !benchmarks.has(name));
  if (unknown.length > 0) {
    refuseWords(`there is no benchmark ${unknown.join(", ")}\n${usage}`);
  }
  const figures: Figure[] = [];
  for (const name of names) {
    console.log(`\n${name}`);
    figures.push(...((await benchmarks.get(name)?.(options)) ?? []));
  }
  if (figures.length > 0) console.log(`\n${tableOf(figures)}`);
}

async function runChild(name: string): Promise<void> {
  const child = await children.get(name)?.();
  if (child === undefined) throw new Error(`no child ${name}`);
  await child.run(positionals);
}
