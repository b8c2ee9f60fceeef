/**
 * Facts and incomplete events as they lie on the log. They may lie there while the service is
 * replaced by another version, so each names its schema; every one that ever wrote is kept in
 * `schemas/kept`, as `<topic>.<number>.<fingerprint>.avsc`.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type Topic,
  factCodec,
  factSchema,
  incompleteCodec,
  incompleteSchema,
  topics,
} from "../schemas/records/records.js";
import { selfDescribing } from "../schemas/records/single-object.js";
import { projectFile } from "../runtime/project-root.js";

/** The topics whose records name their schema, and what they are written by now. */
export const internalSchemas = [
  { topic: topics.facts, schema: factSchema },
  { topic: topics.incomplete, schema: incompleteSchema },
] as const;

export const factRecords = selfDescribing(factCodec, () => schemasOf(topics.facts));
export const incompleteRecords = selfDescribing(incompleteCodec, () =>
  schemasOf(topics.incomplete),
);

export interface KeptSchema {
  readonly number: number;
  /** As the file's name reports it. */
  readonly fingerprint: string;
  readonly schema: unknown;
}

/** Oldest first. */
export function keptSchemas(topic: Topic): readonly KeptSchema[] {
  const folder = projectFile("schemas", "kept");
  return readdirSync(folder)
    .filter((file) => file.startsWith(`${topic}.`))
    .map((file) => {
      const [number = "", fingerprint = ""] = file.slice(topic.length + 1).split(".");
      const schema: unknown = JSON.parse(readFileSync(join(folder, file), "utf8"));
      return { number: Number(number), fingerprint, schema };
    })
    .toSorted((one, other) => one.number - other.number);
}

function schemasOf(topic: Topic): readonly unknown[] {
  return keptSchemas(topic).map(({ schema }) => schema);
}
