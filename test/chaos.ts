/**
 * The service on real servers while everything fails: `npm run chaos -- --minutes 10 --seed 1`.
 * Two processes of each role over Kafka, ClickHouse and Postgres, all started here on loopback; a
 * seeded load, seeded faults. In the end all is healed, and every figure must be the model's.
 * docs/testing.md says what it does.
 */
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import { createLogger } from "../runtime/logger.js";
import { openService } from "../runtime/start/open.js";
import { Releases } from "../runtime/releases.js";
import { readConfig } from "../config.js";
import { countOf, readWords } from "../ops/command-line.js";
import { check, type Findings } from "./chaos/checks.js";
import { Load } from "./chaos/load.js";
import { Machine } from "./chaos/machine.js";
import { planOf, singlePlanOf } from "./chaos/plan.js";
import { Probe } from "./chaos/probe.js";
import { whenNothingIsLeft } from "./chaos/raw-events.js";
import { reportOf } from "./chaos/report.js";
import { describe, seconds, Tormentor } from "./chaos/tormentor.js";
import { must } from "./model/readers/json.js";
import { openCrowds, openWorkspaces } from "./chaos/workspaces.js";

const usage = `npm run chaos -- [options]
  --minutes <n>  of faults (10)      --rate <n>  events a second (25)
  --seed <n>     of a run that is to be repeated
  --single       one fault at a time, each after the recovery from the one before
  --only <text>  of single faults, those whose kind and target have it: "pause a role: api"
  --brokers <n>  of Kafka (1), up to 3: topics have as many copies
  --keep         leaves logs and data behind, also of a run without a finding
Needs Java and Maven for Kafka, and an installed Postgres; see docs/testing.md
`;
const { values } = readWords(usage, {
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(1 + (Date.now() % 1_000_000)) },
    /** Events a second; more than the machine can book only makes the run longer. */
    rate: { type: "string", default: "25" },
    single: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    brokers: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
  },
});
const seedMax = 1_000_000_000;
const seed = countOf(usage, "seed", values.seed, seedMax);
const minutes = countOf(usage, "minutes", values.minutes, 24 * 60);
const rate = countOf(usage, "rate", values.rate, 10_000);
const brokers = countOf(usage, "brokers", values.brokers, 3);
/** Calls under way and what was taken: from the last healing until all of it is in the figures. */
const settleMsMax = 15 * 60_000;

const startedAt = Date.now();
const report = (line: string): void => {
  process.stdout.write(`[${seconds(Date.now() - startedAt)}] ${line}\n`);
};

// Not by itself: whatever a failed run has left open must not keep it going.
process.exit(await run());

/** @returns the exit code */
async function run(): Promise<number> {
  report(`seed ${seed}, ${minutes} minutes, ${rate} events a second, brokers: ${brokers}`);
  const stopping = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // A second one ends it at once, and with it all it has started (Machine).
    process.on(signal, () => (stopping.signal.aborted ? process.exit(130) : stopping.abort()));
  }
  const machine = await Machine.open(brokers);
  report(`all servers and roles answer; their logs are in ${machine.folder.path}`);
  let isClean = false;
  try {
    isClean = await torment(machine, stopping.signal);
  } catch (error) {
    process.stderr.write(`the run could not be brought to its end: ${inspect(error)}\n`);
  } finally {
    const keep = !isClean || values.keep;
    await machine.close({ keep });
    if (keep) report(`logs and data are kept in ${machine.folder.path}`);
  }
  return isClean ? 0 : 1;
}

/** @returns whether nothing was lost, doubled or different */
async function torment(machine: Machine, stopped: AbortSignal): Promise<boolean> {
  const msMax = minutes * 60_000;
  const plan = values.single
    ? singlePlanOf(seed, brokers).filter((fault) => describe(fault).includes(values.only))
    : planOf(seed, msMax, brokers);
  const { adminToken } = machine;
  const readers = machine.readers.map(({ base }) => ({ base, adminToken }));
  const reader = must(readers[0], "an interface");
  const workspaces = await openWorkspaces(reader, seed, rate * minutes * 60);
  const fills = plan.filter(({ kind }) => kind === "fill a topic").length;
  const crowds = await openCrowds(reader, seed, fills);
  const all = [...workspaces, ...crowds];
  const probed = must(workspaces[0], "something to send");
  report(
    `${workspaces.length} workspaces and ${crowds.length} crowds; ${plan.length} faults planned`,
  );

  const load = new Load(machine.endpoints.map(({ base }) => base));
  const probe = new Probe(
    readers.map(({ base }) => base),
    probed.merchant.key,
    values.single ? "each" : "one",
    machine.processors.map(({ base }) => base),
  );
  const over = new AbortController();
  const probing = probe.run(over.signal);
  const enough = new AbortController();
  const sending = load.run(workspaces, rate, enough.signal);
  const tormentor = new Tormentor({ machine, load, probe, crowds: [...crowds] }, report);
  if (values.single) await tormentor.runSingly(plan, msMax, stopped);
  else await tormentor.run(plan, msMax, stopped);
  enough.abort();
  report("all faults are healed");
  await sending;
  probe.healed("the last fault");
  await load.finish(settleMsMax);
  report(`${load.acknowledged} events are acknowledged`);
  await settled(machine, probe);
  over.abort();
  await probing;
  report("everything is booked");
  const findings = await lookInside(machine, async (service) => {
    await whenNothingIsLeft(service.log, settleMsMax);
    return check(service, readers, all, report);
  });
  const ownEnds = [...machine.roles.values()].flatMap(({ name, ownEnds: ends }) =>
    ends.map((how) => `${name} ended by itself: ${how}`),
  );
  const given = { seed, minutes, brokers, isSingle: values.single };
  process.stdout.write(reportOf({ ...given, load, tormentor, probe, findings, ownEnds }));
  return isWhole(findings) && load.unexpected.length === 0;
}

function isWhole({ lost, doubled, wrong }: Findings): boolean {
  return lost.length === 0 && doubled.length === 0 && wrong.length === 0;
}

/** All that was sent is in the figures, and every process is ready. */
async function settled(machine: Machine, probe: Probe): Promise<void> {
  const since = Date.now();
  while (probe.completeTo() <= since) {
    if (Date.now() - since > settleMsMax) throw new Error("not everything was booked in time");
    await pause(500);
  }
  for (const role of machine.roles.values()) await role.whenReady(settleMsMax);
}

/** What the service itself would open, past the proxies. */
async function lookInside<T>(
  machine: Machine,
  work: (service: Awaited<ReturnType<typeof openService>>["service"]) => Promise<T>,
): Promise<T> {
  const logger = createLogger("error");
  const releases = new Releases(logger);
  try {
    const { service } = await openService(readConfig(machine.directSettings), { logger, releases });
    return await work(service);
  } finally {
    await releases.release();
  }
}
