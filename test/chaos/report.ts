/** What a run reports in the end. */
import type { Findings } from "./checks.js";
import type { Load } from "./load.js";
import { type FaultKind, faultKinds } from "./plan.js";
import type { Probe, Recovery } from "./probe.js";
import { seconds, type Tormentor } from "./tormentor.js";

export interface Run {
  readonly seed: number;
  readonly minutes: number;
  readonly brokers: number;
  readonly load: Load;
  readonly tormentor: Tormentor;
  readonly probe: Probe;
  readonly findings: Findings;
  readonly ownEnds: readonly string[];
  /** One fault at a time: each has its own recovery. */
  readonly isSingle: boolean;
}

const examplesMax = 20;

export function reportOf(run: Run): string {
  const { seed, minutes, brokers, load, tormentor, probe, findings } = run;
  const longest = probe.recoveries.toSorted((a, b) => b.tookMs - a.tookMs)[0];
  const last = probe.recoveries.at(-1);
  const kinds = Object.keys(faultKinds).filter((name): name is FaultKind => name in faultKinds);
  const retries = [...load.retries].map(([why, count]) => `${why}: ${count}`).join(", ");
  const lines = [
    "",
    `seed                 ${seed}`,
    `minutes              ${minutes}`,
    `brokers              ${brokers}`,
    `calls                ${load.calls}`,
    `events acknowledged  ${load.acknowledged}, ${load.repeated} of them sent again`,
    `calls repeated       ${retries}`,
    `raw events           ${findings.rawEvents}`,
    `public messages      ${findings.messages}, ${findings.repeats} of them repeats`,
    `workspaces compared  ${findings.workspacesCompared}`,
    `rows audited         ${findings.rowsAudited}`,
    `faults               ${tormentor.faults}`,
    ...kinds.map((kind) => `  ${kind.padEnd(24)}${tormentor.counts.get(kind) ?? 0}`),
    ...(longest === undefined
      ? []
      : [`longest recovery     ${seconds(longest.tookMs)} after: ${longest.what}`]),
    ...(run.isSingle ? probe.recoveries.map(lineOf) : []),
    ...(last === undefined ? [] : [`last recovery        ${seconds(last.tookMs)}`]),
    `ended by themselves  ${run.ownEnds.length}`,
    ...run.ownEnds.slice(0, examplesMax).map((line) => `  ${line}`),
    ...examples("lost", findings.lost),
    ...examples("doubled", findings.doubled),
    ...examples("other differences", findings.wrong),
    ...examples(
      "unexpected answers",
      load.unexpected.map(({ message }) => message),
    ),
  ];
  return `${lines.join("\n")}\n`;
}

function lineOf({ what, tookMs, bookedMs }: Recovery): string {
  const booked = bookedMs === null ? "" : `, booked after ${seconds(bookedMs)}`;
  return `  ${seconds(tookMs).padStart(8)} after ${what}${booked}`;
}

function examples(name: string, lines: readonly string[]): string[] {
  return [
    `${name.padEnd(20)} ${lines.length}`,
    ...lines.slice(0, examplesMax).map((line) => `  ${line}`),
  ];
}
