/** The schema registry's read part, for the OpenAPI document. */
import { z } from "zod";
import * as registry from "../../schemas/http/registry.js";
import type { Operation } from "./operation.js";

export const registryOperations: readonly Operation[] = [
  read("/schemas/ids/{id}", "The schema a message on a public topic names", registry.schemaAnswer),
  read("/schemas/ids/{id}/versions", "Which version that is", registry.schemaVersionsAnswer),
  read("/schemas/ids/{id}/subjects", "Which topic's it is", registry.schemaSubjectsAnswer),
  read("/schemas", "All of them", z.array(registry.subjectVersionAnswer)),
  read("/schemas/types", "The kinds of schemas there are", registry.schemaTypesAnswer),
  read("/subjects", "The public topics, as consumers name them", registry.subjectsAnswer),
  read("/subjects/{subject}/versions", "Every version", registry.subjectVersionsAnswer),
  read(
    "/subjects/{subject}/versions/{version}",
    "One version; `latest` is the newest",
    registry.subjectVersionAnswer,
  ),
  read(
    "/subjects/{subject}/versions/{version}/schema",
    "Its schema alone",
    registry.schemaTextAnswer,
  ),
  read(
    "/subjects/{subject}/versions/{version}/referencedby",
    "Schemas that are made of it: none",
    registry.referencesAnswer,
  ),
  read("/config", "What every version promises", registry.compatibilityAnswer),
  read("/config/{subject}", "The same, of one topic", registry.compatibilityAnswer),
  read("/mode", "Schemas can be read here, not registered", registry.modeAnswer),
  read("/mode/{subject}", "The same, of one topic", registry.modeAnswer),
];

function read(path: string, summary: string, answer: z.ZodType): Operation {
  return {
    method: "get",
    path,
    tag: "Schemas",
    summary,
    security: null,
    status: 200,
    answer,
    mediaType: registry.registryMediaType,
    errors: path.includes("{version}") ? [404, 422] : path.includes("{") ? [404] : [],
    errorAnswer: registry.registryErrorAnswer,
  };
}
