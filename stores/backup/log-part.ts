/**
 * The log in a backup: the records of each partition in files, in order. Topics that are kept (raw
 * events, rejects, the public ones) come back with the same partitions and offsets, because
 * explanations and cursors refer to them. Of the topics between two steps only what some group has
 * yet to handle is copied, and appended anew by its keys. A file is a run of frames: offset (8
 * bytes), length of the key (4), length of the value (4), key, value; numbers big-endian. Its name
 * is the offset of its first record.
 */
import assert from "node:assert";
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { limits } from "../../config.js";
import { type Topic, topics } from "../../schemas/records/records.js";
import { type Log, type LogRecord, LogUnreadable } from "../log/log.js";
import { groupsByTopic } from "../watermark/watermark.js";
import type { BackupFile, Manifest, TopicPart } from "./manifest.js";

/** How long a backup waits for a log that cannot be read. */
const backupPatienceMsMax = 60_000;

/** Topics between two steps: nothing reads what every group has handled. */
const passing: ReadonlySet<Topic> = new Set([topics.incomplete, topics.facts]);

export type GroupOffsets = ReadonlyMap<Topic, Readonly<Record<string, bigint[]>>>;

export async function groupOffsets(log: Log): Promise<GroupOffsets> {
  const offsets = new Map<Topic, Record<string, bigint[]>>();
  for (const [topic, group] of groupsByTopic) {
    const groups = offsets.get(topic) ?? {};
    groups[group] = await log.committed(topic, group);
    offsets.set(topic, groups);
  }
  return offsets;
}

/** Which records a backup takes: up to the present ends. */
export async function cutTopics(log: Log, offsets: GroupOffsets): Promise<Manifest["topics"]> {
  const cut = async (topic: Topic): Promise<TopicPart> => {
    const groups = offsets.get(topic) ?? {};
    const ends = await log.ends(topic);
    const earliest = await log.earliest(topic);
    const partitions = ends.map((end, number) => {
      const handled = Object.values(groups).map((group) => group[number] ?? 0n);
      const from = passing.has(topic) ? lowest(end, handled) : 0n;
      return { from: highest(from, earliest[number] ?? 0n), end };
    });
    return { partitions, groups };
  };
  // What follows from a record comes before the record.
  return {
    [topics.movements]: await cut(topics.movements),
    [topics.transactions]: await cut(topics.transactions),
    [topics.rejected]: await cut(topics.rejected),
    [topics.facts]: await cut(topics.facts),
    [topics.incomplete]: await cut(topics.incomplete),
    [topics.raw]: await cut(topics.raw),
  };
}

export async function writeTopics(
  log: Log,
  cut: Manifest["topics"],
  folder: string,
  signal?: AbortSignal,
): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for (const [topic, number, part] of partsOf(cut)) {
    const records = recordsOf(log, topic, number, part);
    for (let at = await records.next(); at.done !== true;) {
      const name = `${at.value.offset.toString().padStart(20, "0")}.records`;
      const path = `${folderOf(topic, number)}${name}`;
      await mkdir(dirname(join(folder, path)), { recursive: true });
      const written = await writeFile(join(folder, path), at.value, records);
      files.push({ path, ...written.file });
      at = written.next;
      signal?.throwIfAborted();
    }
  }
  return files;
}

/** @returns the file, on disk, and the first record that did not fit */
async function writeFile(path: string, first: LogRecord, others: AsyncIterator<LogRecord>) {
  const hash = createHash("sha256");
  let [bytes, next]: [number, IteratorResult<LogRecord>] = [0, { value: first }];
  async function* frames(): AsyncGenerator<Buffer> {
    for (; next.done !== true && bytes < limits.backupFileBytesMax; next = await others.next()) {
      const frame = frameOf(next.value);
      hash.update(frame);
      bytes += frame.length;
      yield frame;
    }
  }
  const options = { flags: "wx", flush: true, highWaterMark: unwrittenBytesMax };
  await pipeline(frames, createWriteStream(path, options));
  return { file: { bytes, sha256: hash.digest("hex") }, next };
}

/** Continues where an earlier try ended. */
export async function readTopics(
  log: Log,
  { topics: cut, files }: Manifest,
  folder: string,
): Promise<void> {
  for (const topic of Object.values(topics)) {
    if (!passing.has(topic)) await log.widen(topic, cut[topic].partitions.length);
  }
  for (const [topic, number, part] of partsOf(cut)) {
    const paths = files.map(({ path }) => path).filter((path) => isOf(path, topic, number));
    if (passing.has(topic)) {
      for (const path of paths) await appendFile(log, topic, join(folder, path));
    } else await placeFiles(log, { topic, number, end: part.end }, folder, paths);
  }
  for (const [topic, group] of groupsByTopic) {
    const offsets = passing.has(topic) ? undefined : cut[topic].groups[group];
    if (offsets) await log.seek(topic, group, new Map(offsets.entries()));
  }
}

/** What an interrupted try appended is appended again; booking ignores the repeat. */
async function appendFile(log: Log, topic: Topic, path: string): Promise<void> {
  for (const frames of inBatches(await framesIn(path))) await log.append(topic, frames);
}

async function placeFiles(
  log: Log,
  part: { topic: Topic; number: number; end: bigint },
  folder: string,
  paths: readonly string[],
): Promise<void> {
  const { topic, number } = part;
  const ended = (await log.ends(topic))[number] ?? 0n;
  let next: bigint | null = null;
  for (const path of paths.toSorted()) {
    for (const run of inBatches(await framesIn(join(folder, path)))) {
      const [first] = run;
      assert(first);
      // Before a gap, retention had left nothing when the backup was made.
      if (first.offset !== next) await log.begin(topic, number, first.offset);
      next = first.offset + BigInt(run.length);
      const left = run.filter(({ offset }) => offset >= ended);
      if (left[0] !== undefined) await log.place(topic, number, left[0].offset, left);
    }
  }
  if (next !== part.end) await log.begin(topic, number, part.end);
  const end = (await log.ends(topic))[number];
  assert(end === part.end, `${topic}, ${number} ends at ${end}: something else appended to it`);
}

async function* recordsOf(
  log: Log,
  topic: Topic,
  partition: number,
  { from, end }: { from: bigint; end: bigint },
): AsyncGenerator<LogRecord> {
  for (let next = from; next < end;) {
    const found = await patiently(() => readFrom(log, topic, partition, next));
    yield* found.records.filter(({ offset }) => offset < end);
    next = found.next;
  }
}

/**
 * To be called below the end.
 * @returns no records only where retention removed them meanwhile
 * @throws LogUnreadable
 */
async function readFrom(log: Log, topic: Topic, partition: number, offset: bigint) {
  const records = await log.read(topic, partition, offset, recordsAtOnce);
  const last = records.at(-1);
  if (last !== undefined) return { records, next: last.offset + 1n };
  const kept = (await log.earliest(topic))[partition] ?? 0n;
  if (kept > offset) return { records, next: kept };
  throw new LogUnreadable(`${topic}, ${partition} gives nothing from ${offset} on`);
}

/** A short trouble of the log, such as a quota, must not end a backup of hours. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const until = performance.now() + backupPatienceMsMax;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof LogUnreadable) || performance.now() > until) throw error;
    }
    await pause(patiencePauseMs);
  }
}

const patiencePauseMs = 1_000;

/** A record may have a megabyte. */
const recordsAtOnce = 100;

interface Frame {
  readonly offset: bigint;
  readonly key: string;
  readonly value: Buffer;
}

const headBytes = 16;

/** A write for each record would take longer than the disk. */
const unwrittenBytesMax = 1024 * 1024;

function frameOf({ offset, key, value }: Frame): Buffer {
  const keyBytes = Buffer.from(key, "utf8");
  const head = Buffer.alloc(headBytes);
  head.writeBigUInt64BE(offset, 0);
  head.writeUInt32BE(keyBytes.length, 8);
  head.writeUInt32BE(value.length, 12);
  return Buffer.concat([head, keyBytes, value]);
}

/** Whole in memory: a file has up to `backupFileBytesMax` and one more record. */
async function framesIn(path: string): Promise<Frame[]> {
  const bytes = await readFile(path);
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    const keyEnd = at + headBytes + bytes.readUInt32BE(at + 8);
    const end = keyEnd + bytes.readUInt32BE(at + 12);
    assert(end <= bytes.length, `${path} was checked and is cut short`);
    frames.push({
      offset: bytes.readBigUInt64BE(at),
      key: bytes.toString("utf8", at + headBytes, keyEnd),
      value: bytes.subarray(keyEnd, end),
    });
    at = end;
  }
  return frames;
}

/** Runs without a gap that one commit can take. */
function inBatches(frames: readonly Frame[]): Frame[][] {
  const batches: Frame[][] = [];
  for (const frame of frames) {
    const batch = batches.at(-1);
    const isNext = batch?.at(-1)?.offset === frame.offset - 1n;
    if (batch && isNext && batch.length < limits.logCommitRecordsMax) batch.push(frame);
    else batches.push([frame]);
  }
  return batches;
}

function folderOf(topic: Topic, partition: number): string {
  return `log/${topic}/${partition}/`;
}

function isOf(path: string, topic: Topic, partition: number): boolean {
  return path.startsWith(folderOf(topic, partition));
}

function partsOf(cut: Manifest["topics"]) {
  return Object.values(topics).flatMap((topic) =>
    [...cut[topic].partitions.entries()].map(([number, part]) => [topic, number, part] as const),
  );
}

function lowest(first: bigint, others: readonly bigint[]): bigint {
  return others.reduce((low, other) => (other < low ? other : low), first);
}

function highest(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
