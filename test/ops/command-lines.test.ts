/** What the programs for developers say to words they do not know. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect } from "chai";

const programs: readonly (readonly [name: string, path: string, wrong: readonly string[]])[] = [
  ["bench", "../../ops/bench.js", ["dance"]],
  ["chaos", "../chaos.js", ["--minutes", "none"]],
  ["demo", "../../ops/demo.js", ["--stale"]],
  ["fuzz", "../fuzz.js", ["--seed"]],
  ["import", "../../ops/import.js", ["--from-line", "x"]],
];

describe("The command line", () => {
  /** @returns what it said, with its exit code in front */
  function run(path: string, words: readonly string[]): string {
    const program = fileURLToPath(new URL(path, import.meta.url));
    const { status, stdout, stderr } = spawnSync(process.execPath, [
      ...process.execArgv,
      program,
      ...words,
    ]);
    return `${status}\n${stdout.toString()}${stderr.toString()}`;
  }

  for (const [name, path, wrong] of programs) {
    it(`should say how ${name} goes when its words are wrong`, () => {
      const usage = new RegExp(`^2\n[^]*^npm run ${name}`, "m");
      expect(run(path, wrong))
        .to.match(usage)
        .and.not.match(/^ +at /m);
    });
  }

  it("should say how it goes when asked", () => {
    expect(run("../fuzz.js", ["--help"])).to.match(/^0\nnpm run fuzz/);
  });
});
