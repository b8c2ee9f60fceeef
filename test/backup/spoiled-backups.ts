/** Ways in which a backup is not whole any more, and what must be said of each. */
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";

type Spoiled = [what: string, spoil: (backup: string) => void, said: RegExp];

export const spoiledBackups: readonly Spoiled[] = [
  ["lacks a file", (backup) => rmSync(someFile(backup)), /is missing/],
  [
    "has a file cut short",
    (backup) => truncateSync(someFile(backup), 10),
    /has 10 bytes instead of/,
  ],
  ["has a byte changed", flipByte, /was changed/],
  ["lacks its manifest", (backup) => rmSync(manifestOf(backup)), /holds no whole backup/],
  ["has its manifest changed", changeManifest, /is damaged/],
];

function someFile(backup: string): string {
  return join(backup, "clickhouse", "money_facts.native.gz");
}

function manifestOf(backup: string): string {
  return join(backup, "manifest.json");
}

function flipByte(backup: string): void {
  const bytes = readFileSync(someFile(backup));
  const middle = Math.floor(bytes.length / 2);
  bytes.writeUInt8((bytes[middle] ?? 0) ^ 1, middle);
  writeFileSync(someFile(backup), bytes);
}

function changeManifest(backup: string): void {
  const file = manifestOf(backup);
  writeFileSync(file, readFileSync(file, "utf8").replace('"format": 1', '"format": 2'));
}
