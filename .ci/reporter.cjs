/**
 * Mocha's own report, which files took longest, and for `.ci/run`, in the folder named by
 * CI_RESULTS: the names of the tests that failed, and the counts of all runs in one line.
 */
const { appendFileSync, existsSync, readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { reporters } = require("mocha");

const slowestTold = 12;
const nameLengthMax = 160;

module.exports = class extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    this.seconds = new Map();
    // Files that run in processes of their own are reported at their end, with what each part took.
    for (const ended of ["test end", "hook end"]) {
      runner.on(ended, ({ file, duration = 0 }) => {
        if (file === undefined) return;
        const name = path.basename(file);
        this.seconds.set(name, (this.seconds.get(name) ?? 0) + duration / 1000);
      });
    }
  }

  epilogue() {
    super.epilogue();
    const slowest = [...this.seconds].toSorted(([, a], [, b]) => b - a).slice(0, slowestTold);
    const reported = slowest.map(([file, seconds]) => `${file} ${seconds.toFixed(1)} s`);
    process.stdout.write(`\n  longest: ${reported.join(", ")}\n`);
    const folder = process.env.CI_RESULTS;
    if (folder !== undefined) this.writeResults(folder, process.env.CI_STAGE ?? "tests");
  }

  writeResults(folder, stage) {
    for (const test of this.failures) {
      const file = path.basename(test.file ?? "");
      const name = `${stage}: ${file}: ${test.fullTitle()}`.replace(/\s+/g, " ");
      appendFileSync(path.join(folder, "failures"), `${name.slice(0, nameLengthMax)}\n`);
    }
    const counts = path.join(folder, "counts");
    const earlier = existsSync(counts) ? readFileSync(counts, "utf8").match(/\d+/g) : ["0", "0"];
    const [passed, failed] = earlier.map(Number);
    const { passes, failures } = this.stats;
    writeFileSync(counts, `${passed + passes} passed, ${failed + failures} failed\n`);
  }
};
