/**
 * Mocha's own report, which files took longest, and its counts in one line in the file named by
 * CI_SUMMARY, with those that an earlier run left there.
 */
const { readFileSync, writeFileSync } = require("node:fs");
const path = require("node:path");
const { reporters } = require("mocha");

const slowestTold = 12;

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
    const file = process.env.CI_SUMMARY;
    if (file === undefined) return;
    const [passed = 0, failed = 0] = readFileSync(file, "utf8").match(/\d+/g)?.map(Number) ?? [];
    const { passes, failures } = this.stats;
    writeFileSync(file, `${passed + passes} passed, ${failed + failures} failed\n`);
  }
};
