/** What the process of state-kills.test.ts commits and reports, both known from numbers alone. */
import {
  type Commit,
  type Lane,
  type Queued,
  type RowLane,
  rowLanes,
} from "../../stores/state/state.js";

export const partitions = [0, 1, 2] as const;

/** A line of its output, when it is done; `removing` before it begins. */
export type Step =
  | { readonly did: "taken" }
  | { readonly did: "committed"; readonly partition: number; readonly offset: number }
  | {
      readonly did: "sealed";
      readonly lane: RowLane;
      readonly token: string;
      readonly isAgain: boolean;
      readonly entries: readonly string[];
    }
  | { readonly did: "removing" | "removed"; readonly lane: RowLane; readonly token: string }
  | { readonly did: "failed"; readonly error: string; readonly queuedBytes: number };

const lanes: readonly Lane[] = ["messages", ...rowLanes];
const slots = 10;
/** Messages of so many commits are said to be published together. */
const publishedTogether = 4;
const largeEvery = 40;
const largeBytes = 200_000;

/** Of the commit after which the next fact is at this offset, which is its sequence, too. */
export function roundOf(partition: number, offset: number): Commit {
  const values = [
    ["last", `${offset}`],
    [`slot ${offset % slots}`, valueOf(partition, offset)],
  ] as const;
  const queued = lanes
    .filter((lane) => queuesIn(lane, offset))
    .map((lane) => [lane, Buffer.from(valueOf(partition, offset))]);
  return {
    offset: BigInt(offset),
    values: new Map(values.map(([key, value]) => [key, Buffer.from(value)])),
    queued: Object.fromEntries(queued),
    published: BigInt(publishedAt(offset)),
  };
}

/** All values of a partition when it stands there. */
export function valuesAt(partition: number, offset: number): Map<string, string> {
  const values = new Map<string, string>();
  if (offset > 0) values.set("last", `${offset}`);
  for (let before = Math.max(1, offset - slots + 1); before <= offset; before += 1) {
    values.set(`slot ${before % slots}`, valueOf(partition, before));
  }
  return values;
}

/** The messages that a partition has to have when it stands there, as `labelOf` names them. */
export function unpublishedAt(partition: number, offset: number): string[] {
  const labels: string[] = [];
  for (let before = publishedAt(offset) + 1; before <= offset; before += 1) {
    if (queuesIn("messages", before)) labels.push(`${partition}/${before}`);
  }
  return labels;
}

/** The first commit from that offset on that queues something in the lane. */
export function nextIn(lane: Lane, from: number): number {
  return queuesIn(lane, from) ? from : nextIn(lane, from + 1);
}

/** `partition/offset`, where the entry is what that commit queued, else what it is. */
export function labelOf({ partition, value }: Queued): string {
  const text = value.toString();
  const [, offset = ""] = text.split("/");
  const isWhole = text === valueOf(partition, Number(offset));
  return isWhole ? `${partition}/${offset}` : `${partition} has ${text.slice(0, 100)}`;
}

/** The last commit whose messages this one says to be published: one before it. */
function publishedAt(offset: number): number {
  return Math.max(0, offset - 1 - ((offset - 1) % publishedTogether));
}

function queuesIn(lane: Lane, offset: number): boolean {
  return offset % (1 + lanes.indexOf(lane)) === 0;
}

function valueOf(partition: number, offset: number): string {
  const bytes = offset % largeEvery === 0 ? largeBytes : (offset * 7_919) % 3_000;
  return `${partition}/${offset}/${"x".repeat(bytes)}`;
}
