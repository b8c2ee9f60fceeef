/** Runs of `npm run import` on files of the suite, which may send to a workspace of its own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { importCommand } from "../../ops/import/command.js";
import { suiteEndpoints } from "../harness/endpoints.js";

export function suiteImports() {
  const endpoints = suiteEndpoints();
  const folder = mkdtempSync(join(tmpdir(), "import-"));
  let files = 0;
  after(() => rmSync(folder, { recursive: true }));
  const run = async (...words: string[]) => {
    const reported: string[] = [];
    const code = await importCommand(words, (line) => reported.push(line));
    return { code, reported, text: reported.join("\n") };
  };
  const fileOf = (content: readonly string[] | Buffer, lineEnd = "\n"): string => {
    const file = join(folder, `${(files += 1)}.csv`);
    const text = (lines: readonly string[]) => lines.map((line) => line + lineEnd).join("");
    writeFileSync(file, Buffer.isBuffer(content) ? content : text(content));
    return file;
  };
  /** Sends what is right; to the suite's workspace, unless it is said where. */
  const apply = (words: readonly string[], url = endpoints.base) =>
    run(...words, "--apply", "--key", endpoints.key, "--url", url);
  return { endpoints, folder, fileOf, run, apply };
}
