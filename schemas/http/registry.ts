/**
 * The read part of a schema registry's interface, as Confluent's API reference describes it
 * (`/schemas`, `/subjects`, `/config`, `/mode`): ordinary Avro consumers ask it what an id stands
 * for, and consoles show what there is.
 */
import { z } from "zod";

export const registryMediaType = "application/vnd.schemaregistry.v1+json";
/** What a registry holds changes to: each version reads what every other one wrote. */
export const compatibility = "FULL_TRANSITIVE";
/** Nobody registers here. */
export const mode = "READONLY";

const schemaText = z.string().describe("The Avro schema's JSON, as text.");
const subject = z.string();
const version = z.int().describe("Counts from 1.");
const id = z.int().describe("What messages carry behind their zero byte.");

export const schemaAnswer = z.object({ schema: schemaText });
export const schemaSubjectsAnswer = z.array(subject);
export const schemaTypesAnswer = z.array(z.literal("AVRO"));
export const schemaVersionsAnswer = z.array(z.object({ subject, version }));
export const subjectsAnswer = z.array(subject);
export const subjectVersionsAnswer = z.array(version);
export const subjectVersionAnswer = z
  .object({ subject, version, id, schema: schemaText })
  .meta({ id: "SchemaVersion" });
export const schemaTextAnswer = z.looseObject({}).describe("The Avro schema itself, not as text.");
export const compatibilityAnswer = z.object({ compatibilityLevel: z.literal(compatibility) });

export const modeAnswer = z.object({ mode: z.literal(mode) });
/** No schema here is made of others. */
export const referencesAnswer = z.array(id).max(0);

export const registryErrors = {
  subjectNotFound: 40401,
  versionNotFound: 40402,
  schemaNotFound: 40403,
  versionInvalid: 42202,
} as const;

export const registryErrorAnswer = z
  .object({
    error_code: z.int().describe(Object.values(registryErrors).join(", ")),
    message: z.string(),
  })
  .meta({ id: "RegistryError", description: "As schema registries report errors." });
