/** The schema registry's read part, for the OpenAPI document. */
import type { z } from "zod";
import {
  compatibilityAnswer,
  registryErrorAnswer,
  registryMediaType,
  schemaAnswer,
  schemaTextAnswer,
  schemaTypesAnswer,
  schemaVersionsAnswer,
  subjectsAnswer,
  subjectVersionAnswer,
  subjectVersionsAnswer,
} from "../../schemas/http/registry.js";
import type { Operation } from "./operations.js";

export const registryOperations: readonly Operation[] = [
  read("/schemas/ids/{id}", "The schema a message on a public topic names", schemaAnswer, [404]),
  read("/schemas/ids/{id}/versions", "Which version that is", schemaVersionsAnswer, [404]),
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
  read("/config", "What every version promises", compatibilityAnswer),
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
