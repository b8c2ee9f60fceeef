/** Environments in the words of `spec.md` 5.3. */
import type { Environment } from "../../schemas/records/records.js";

export type ShownEnvironment = "Production" | "Test";

export function storedEnvironment(shown: ShownEnvironment): Environment {
  return shown === "Production" ? "live" : "test";
}

export function shownEnvironment(stored: Environment): ShownEnvironment {
  return stored === "live" ? "Production" : "Test";
}
