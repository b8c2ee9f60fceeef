/**
 * What goes wrong and when, as a function of the seed alone. How the faults meet the service's own
 * work is different in every run; which, on whom, how long and in what order is not.
 */
import * as fc from "fast-check";

export const roleTargets = [
  "ingest 1",
  "ingest 2",
  "processors 1",
  "processors 2",
  "api 1",
  "api 2",
] as const;
export type RoleTarget = (typeof roleTargets)[number];
/** `kafka` is the only broker, `kafka 1` one of several. */
export type BrokerTarget = "kafka" | `kafka ${number}`;
export type ServerTarget = BrokerTarget | "clickhouse" | "postgres";
/** Of faults that have no target of their own. */
export type Target = RoleTarget | ServerTarget | "processors 3" | "revenue.raw";

export function brokerTargets(brokers: number): BrokerTarget[] {
  if (brokers === 1) return ["kafka"];
  return Array.from({ length: brokers }, (_, index): BrokerTarget => `kafka ${index + 1}`);
}

export function isServerTarget(target: Target): target is ServerTarget {
  return /^(kafka|clickhouse|postgres)/.test(target);
}

export const faultKinds = {
  "kill a role": "kill -9 of a role's process; started again after the time given",
  "restart a role": "SIGTERM to a role's process; started again after the time given",
  "pause a role": "SIGSTOP of a role's process, then SIGCONT",
  "kill a server": "kill -9 of Kafka, ClickHouse or Postgres; started again",
  "pause a server": "SIGSTOP of Kafka, ClickHouse or Postgres, then SIGCONT",
  "cut connections": "every second connection of all roles to a server is reset",
  "part a server": "all connections to a server are reset, new ones refused for the time given",
  "half-open connections": "what is sent on connections to a server vanishes; then they are reset",
  "slow link": "every packet to and from a server is held up",
  "narrow link": "few bytes a second to and from a server",
  "force rebalances": "a third process of the role processors joins and is killed",
  "fill a topic": "a workspace of its own sends thousands of events in batches",
} as const;
export type FaultKind = keyof typeof faultKinds;

export interface Fault {
  /** After the beginning; later when too much is wrong already. */
  readonly atMs: number;
  readonly kind: FaultKind;
  readonly target: Target;
  readonly lastsMs: number;
  /** Of a slow link: ms each packet waits. Of a narrow one: bytes a second. Else 0. */
  readonly amount: number;
}

type Drawn = Omit<Fault, "atMs">;

const gapMs = { min: 2_000, max: 9_000 };

/** Mostly short, so that the service gets to work between them; some are as long as they may be. */
function lasting(msMax: number): fc.Arbitrary<number> {
  const soon = fc.integer({ min: 500, max: 5_000 });
  const late = fc.integer({ min: 1_000, max: msMax });
  return fc.oneof({ weight: 3, arbitrary: soon }, { weight: 1, arbitrary: late });
}

function faults(
  weight: number,
  kind: FaultKind,
  targets: readonly Target[],
  lastsMs: fc.Arbitrary<number>,
  amount: fc.Arbitrary<number> = fc.constant(0),
): fc.WeightedArbitrary<Drawn> {
  const target = fc.constantFrom(...targets);
  return { weight, arbitrary: fc.record({ kind: fc.constant(kind), target, lastsMs, amount }) };
}

function drawn(servers: readonly ServerTarget[]): fc.Arbitrary<Drawn> {
  return fc.oneof(
    faults(6, "kill a role", roleTargets, fc.integer({ min: 0, max: 4_000 })),
    faults(2, "restart a role", roleTargets, fc.integer({ min: 0, max: 2_000 })),
    faults(5, "pause a role", roleTargets, lasting(40_000)),
    faults(2, "kill a server", servers, fc.integer({ min: 0, max: 4_000 })),
    faults(3, "pause a server", servers, lasting(40_000)),
    faults(4, "cut connections", servers, fc.constant(0)),
    faults(2, "part a server", servers, lasting(20_000)),
    faults(2, "half-open connections", servers, lasting(30_000)),
    faults(2, "slow link", servers, lasting(20_000), fc.integer({ min: 20, max: 400 })),
    faults(1, "narrow link", servers, lasting(20_000), fc.integer({ min: 8_000, max: 64_000 })),
    faults(2, "force rebalances", ["processors 3"], fc.integer({ min: 5_000, max: 25_000 })),
    faults(1, "fill a topic", ["revenue.raw"], fc.constant(0)),
  );
}

/** @param msMax nothing begins later */
export function planOf(seed: number, msMax: number, brokers: number): Fault[] {
  const gaps = fc.integer(gapMs);
  const countMax = Math.ceil(msMax / gapMs.min);
  const servers: ServerTarget[] = [...brokerTargets(brokers), "clickhouse", "postgres"];
  const list = fc.sample(fc.tuple(gaps, drawn(servers)), { seed, numRuns: countMax });
  const planned: Fault[] = [];
  let atMs = 0;
  for (const [gap, fault] of list) {
    atMs += gap;
    if (atMs < msMax) planned.push({ atMs, ...fault });
  }
  return planned;
}

/** Longer than what the service and its servers wait for before they give somebody up. */
const singles = {
  role: [
    { kind: "kill a role", lastsMs: 1_000, amount: 0 },
    { kind: "restart a role", lastsMs: 1_000, amount: 0 },
    { kind: "pause a role", lastsMs: 15_000, amount: 0 },
  ],
  server: [
    { kind: "kill a server", lastsMs: 1_000, amount: 0 },
    { kind: "pause a server", lastsMs: 15_000, amount: 0 },
    { kind: "cut connections", lastsMs: 0, amount: 0 },
    { kind: "part a server", lastsMs: 10_000, amount: 0 },
    { kind: "half-open connections", lastsMs: 15_000, amount: 0 },
    { kind: "slow link", lastsMs: 10_000, amount: 200 },
    { kind: "narrow link", lastsMs: 10_000, amount: 16_000 },
  ],
} as const;
const rebalances = { kind: "force rebalances", lastsMs: 10_000, amount: 0 } as const;

/**
 * Every kind of fault on every role and server, in the seed's order, for a run in which each begins
 * when the one before is recovered from: `atMs` is 0.
 */
export function singlePlanOf(seed: number, brokers: number): Fault[] {
  const servers: ServerTarget[] = [...brokerTargets(brokers), "clickhouse", "postgres"];
  const roles = roleTargets.filter((name) => name.endsWith("1"));
  const all: Fault[] = [
    ...singles.role.flatMap((one) => roles.map((target) => ({ ...one, target, atMs: 0 }))),
    ...singles.server.flatMap((one) => servers.map((target) => ({ ...one, target, atMs: 0 }))),
    { ...rebalances, target: "processors 3", atMs: 0 },
  ];
  const shuffled = fc.shuffledSubarray(all, { minLength: all.length });
  const [order = []] = fc.sample(shuffled, { seed, numRuns: 1 });
  return order;
}
