import { readFileSync } from "node:fs";
import { z } from "zod";
import { projectFile } from "./project-root.js";

/** Of this service, as its package says. */
export const { version } = z
  .object({ version: z.string() })
  .parse(JSON.parse(readFileSync(projectFile("package.json"), "utf8")));
