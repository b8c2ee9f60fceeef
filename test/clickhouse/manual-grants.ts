/** What the manual says a user of ClickHouse needs. */
import { readFileSync } from "node:fs";
import { projectFile } from "../../runtime/project-root.js";

/**
 * @param title of the section of docs/operating.md
 * @returns as users.xml takes them: without the user
 */
export function grantsOf(title: string, user: string): { needed: string[]; goodToHave: string[] } {
  const manual = readFileSync(projectFile("docs", "operating.md"), "utf8");
  const [, section = ""] = manual.split(`\n## ${title}\n`);
  const [text = ""] = section.split("\n## ", 1);
  const grants = [...text.matchAll(new RegExp(`^(GRANT .*) TO ${user};(.*)$`, "gm"))];
  // What it gives a reason for is good to have.
  const those = (isNeeded: boolean): string[] =>
    grants.filter(([, , why]) => (why === "") === isNeeded).map(([, grant = ""]) => grant);
  return { needed: those(true), goodToHave: those(false) };
}
