/** Does to the machine what the plan says, and undoes it. */
import { setTimeout as pause } from "node:timers/promises";
import type { Load } from "./load.js";
import type { Machine } from "./machine.js";
import { must } from "../model/readers/json.js";
import { type Fault, type FaultKind, isServerTarget } from "./plan.js";
import type { Probe } from "./probe.js";
import { fairWeather, type Proxy } from "../harness/proxy.js";
import type { RoleUnit } from "./role-unit.js";
import type { ServerUnit } from "./server-unit.js";
import type { Workspace } from "./workspaces.js";

/** More at once would only be one long outage. */
const atOnceMax = 3;
const everySecond = 2;
const lookEveryMs = 100;
/** After a single fault: its recovery, and the quiet before the next one. */
const recoveryMsMax = 5 * 60_000;
const settleMs = 3_000;

interface Targets {
  readonly machine: Machine;
  readonly load: Load;
  readonly probe: Probe;
  /** One for each fault that fills a topic. */
  readonly crowds: Workspace[];
}

export class Tormentor {
  readonly counts = new Map<FaultKind, number>();
  readonly #open = new Map<string, Promise<void>>();

  constructor(
    private readonly targets: Targets,
    private readonly report: (line: string) => void,
  ) {}

  get faults(): number {
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Resolves when the time is over and everything is healed; rejects when something is not. */
  async run(plan: readonly Fault[], msMax: number, signal: AbortSignal): Promise<void> {
    const startedAt = Date.now();
    const isOver = () => signal.aborted || Date.now() - startedAt > msMax;
    for (const fault of plan) {
      const waits = () =>
        Date.now() - startedAt < fault.atMs ||
        this.#open.size >= atOnceMax ||
        this.#open.has(fault.target);
      while (waits() && !isOver()) await this.#moment();
      if (isOver()) break;
      this.report(`${seconds(Date.now() - startedAt)} ${describe(fault)}`);
      this.#open.set(fault.target, this.#inflict(fault));
    }
    await Promise.all(this.#open.values());
  }

  /** One at a time: each begins some seconds after the one before is recovered from. */
  async runSingly(plan: readonly Fault[], msMax: number, signal: AbortSignal): Promise<void> {
    const { machine, probe } = this.targets;
    const startedAt = Date.now();
    for (const fault of plan) {
      if (signal.aborted || Date.now() - startedAt > msMax) break;
      this.report(describe(fault));
      await this.#inflict(fault);
      await probe.whenRecovered(recoveryMsMax);
      for (const role of machine.roles.values()) await role.whenReady(recoveryMsMax);
      await pause(settleMs);
    }
  }

  /** What could not be healed ends the run. */
  async #moment(): Promise<void> {
    await Promise.race([pause(lookEveryMs), ...this.#open.values()]);
  }

  async #inflict(fault: Fault): Promise<void> {
    this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
    const heal = await this.#begin(fault);
    await pause(fault.lastsMs);
    await heal();
    this.targets.probe.healed(describe(fault));
    this.#open.delete(fault.target);
  }

  /** @returns what undoes it */
  async #begin({ kind, target, amount }: Fault): Promise<() => Promise<void> | void> {
    const { machine, load, crowds } = this.targets;
    if (isServerTarget(target)) {
      return faultOfServer(kind, machine.server(target), machine.proxy(target), amount);
    }
    if (kind === "force rebalances") {
      const third = await machine.third();
      third.start();
      return () => third.end("SIGKILL");
    }
    if (kind === "fill a topic") {
      const crowd = crowds.shift();
      if (crowd !== undefined) load.fill(crowd);
      return () => undefined;
    }
    const role = [...machine.roles.values()].find(({ name }) => name === target);
    return faultOfRole(kind, must(role, target));
  }
}

async function faultOfRole(kind: FaultKind, role: RoleUnit): Promise<() => void> {
  if (kind === "pause a role") {
    role.signal("SIGSTOP");
    return () => role.signal("SIGCONT");
  }
  await role.end(kind === "kill a role" ? "SIGKILL" : "SIGTERM");
  return () => role.start();
}

async function faultOfServer(
  kind: FaultKind,
  server: ServerUnit,
  proxy: Proxy,
  amount: number,
): Promise<() => Promise<void> | void> {
  if (kind === "kill a server") {
    await server.kill();
    return () => server.start();
  }
  if (kind === "pause a server") {
    server.signal("SIGSTOP");
    return () => server.signal("SIGCONT");
  }
  if (kind === "cut connections") proxy.cut(everySecond);
  if (kind === "part a server") {
    proxy.isParted = true;
    proxy.cut(1);
  }
  if (kind === "half-open connections") proxy.deafen();
  if (kind === "slow link") proxy.weather = { ...fairWeather, delayMs: amount };
  if (kind === "narrow link") proxy.weather = { ...fairWeather, bytesPerSecond: amount };
  return () => proxy.heal();
}

export function describe({ kind, target, lastsMs, amount }: Fault): string {
  const how = amount === 0 ? "" : ` ${amount}`;
  return `${kind}: ${target}, ${seconds(lastsMs)}${how}`;
}

export function seconds(ms: number): string {
  return `${Math.round(ms / 100) / 10} s`;
}
