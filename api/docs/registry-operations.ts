/** The schema registry's read part, for the OpenAPI document. */
import { z } from "zod";
import {
  compatibilityAnswer,
  modeAnswer,
  referencesAnswer,
  registryErrorAnswer,
  registryMediaType,
  schemaAnswer,
  schemaSubjectsAnswer,
  schemaTextAnswer,
  schemaTypesAnswer,
  schemaVersionsAnswer,
  subjectsAnswer,
  subjectVersionAnswer,
  subjectVersionsAnswer,
} from "../../schemas/http/registry.js";
import type { Operation } from "./operation.js";

export const registryOperations: readonly Operation[] = [
  read("/schemas/ids/{id}", "The schema a message on a public topic names", schemaAnswer, [404]),
  read("/schemas/ids/{id}/versions", "Which version that is", schemaVersionsAnswer, [404]),
  read("/schemas/ids/{id}/subjects", "Which topic's it is", schemaSubjectsAnswer, [404]),
  read("/schemas", "All of them", z.array(subjectVersionAnswer)),
  read("/schemas/types", "The kinds of schemas there are", schemaTypesAnswer),
  read("/subjects", "The public topics, as consumers name them", subjectsAnswer),
  read("/subjects/{subject}/versions", "Every version", subjectVersionsAnswer, [404]),
  read(
    "/subjects/{subject}/versions/{version}",
    "One version; `latest` is the newest",
    subjectVersionAnswer,
    [404, 422],
  ),
  read(
    "/subjects/{subject}/versions/{version}/schema",
    "Its schema alone",
    schemaTextAnswer,
    [404, 422],
  ),
  read(
    "/subjects/{subject}/versions/{version}/referencedby",
    "Schemas that are made of it: none",
    referencesAnswer,
    [404, 422],
  ),
  read("/config", "What every version promises", compatibilityAnswer),
  read("/config/{subject}", "The same, of one topic", compatibilityAnswer, [404]),
  read("/mode", "Schemas can be read here, not registered", modeAnswer),
  read("/mode/{subject}", "The same, of one topic", modeAnswer, [404]),
];

function read(
  path: string,
  summary: string,
  answer: z.ZodType,
  errors: readonly number[] = [],
): Operation {
  return {
    method: "get",
    path,
    tag: "Schemas",
    summary,
    security: null,
    status: 200,
    answer,
    mediaType: registryMediaType,
    errors,
    errorAnswer: registryErrorAnswer,
  };
}
