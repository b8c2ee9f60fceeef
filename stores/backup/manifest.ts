/**
 * What a backup says about itself, written last: a folder without a whole manifest is no backup. It
 * has the length and SHA-256 of every file.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { topics } from "../../schemas/records/records.js";

/** The backup cannot be made or used; the message says why and what to do. */
export class BackupRefused extends Error {
  override readonly name = "BackupRefused";
}

export const manifestFile = "manifest.json";
/** Grows when an older program could not restore what a newer one writes. */
const formatNumber = 1;

const offset = z.string().regex(/^\d+$/).transform(BigInt);
const partition = z.object({
  /** The first record in the backup, and the offset the next record gets. */
  from: offset,
  end: offset,
});
const topicPart = z.object({
  partitions: z.array(partition),
  /** Where each consumer group stood, by partition. */
  groups: z.record(z.string(), z.array(offset)),
});
const file = z.object({
  /** Below the backup's folder, with slashes. */
  path: z.string().regex(/^[\w.-]+(\/[\w.-]+)*$/),
  bytes: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
const manifest = z.object({
  format: z.literal(formatNumber),
  made_at: z.iso.datetime(),
  version: z.string(),
  installation: z.string(),
  /** The fingerprint of the vault key that sealed its secrets. */
  vault_key_id: z.string(),
  /** `name checksum` of each migration, in order. */
  migrations: z.object({ postgres: z.array(z.string()), clickhouse: z.array(z.string()) }),
  topics: z.record(z.enum(Object.values(topics)), topicPart),
  files: z.array(file),
});

export type TopicPart = z.output<typeof topicPart>;
export type BackupFile = z.output<typeof file>;
export type Manifest = Omit<z.output<typeof manifest>, "format">;

/** The text of `manifest.json`; its last line is a checksum of the others. */
export function manifestText(given: Manifest): string {
  const body = JSON.stringify({ format: formatNumber, ...given }, offsetsAsText, 2);
  return `${body}\n${sha256(body)}\n`;
}

/** @returns the manifest and its own SHA-256, which identifies the backup */
export async function readManifest(
  folder: string,
): Promise<{ readonly manifest: Manifest; readonly id: string }> {
  const text = await readFile(join(folder, manifestFile), "utf8").catch((error: unknown) => {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    throw new BackupRefused(`${folder} holds no whole backup: it has no ${manifestFile}.`);
  });
  const end = text.lastIndexOf("\n", text.length - 2);
  const [body, id] = [text.slice(0, Math.max(end, 0)), text.slice(end + 1).trim()];
  if (sha256(body) !== id) {
    throw new BackupRefused(`${join(folder, manifestFile)} is damaged. Take another backup.`);
  }
  const parsed = manifest.safeParse(JSON.parse(body));
  if (!parsed.success) {
    throw new BackupRefused(
      `The backup in ${folder} was made by another version of this service; restore it with that.`,
    );
  }
  return { manifest: parsed.data, id };
}

/** @throws BackupRefused naming the first files that are missing or changed */
export async function checkFiles(folder: string, files: readonly BackupFile[]): Promise<void> {
  const wrong: string[] = [];
  for (const expected of files) {
    const path = join(folder, expected.path);
    const found = await stat(path).catch(() => null);
    if (found === null) wrong.push(`${expected.path} is missing`);
    else if (found.size !== expected.bytes) {
      wrong.push(`${expected.path} has ${found.size} bytes instead of ${expected.bytes}`);
    } else if ((await hashOf(path)) !== expected.sha256) wrong.push(`${expected.path} was changed`);
    if (wrong.length >= problemsReportedMax) break;
  }
  if (wrong.length === 0) return;
  throw new BackupRefused(`The backup in ${folder} is damaged:\n  ${wrong.join("\n  ")}`);
}

const problemsReportedMax = 10;

export async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function offsetsAsText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
