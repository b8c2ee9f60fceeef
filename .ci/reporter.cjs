/**
 * Mocha's own report, which files took longest, and its counts in one line in the file named by
 * CI_SUMMARY.
 */
const { writeFileSync } = require("node:fs");
const path = require("node:path");
const { reporters } = require("mocha");

const slowestTold = 12;

module.exports = class extends reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    this.seconds = new Map();
    let began = Date.now();
    runner.on("suite", (suite) => {
      if (suite.parent?.root) began = Date.now();
    });
    runner.on("suite end", (suite) => {
      if (!suite.parent?.root) return;
      const file = path.basename(suite.file);
      this.seconds.set(file, (this.seconds.get(file) ?? 0) + (Date.now() - began) / 1000);
    });
  }

  epilogue() {
    super.epilogue();
    const slowest = [...this.seconds].toSorted(([, a], [, b]) => b - a).slice(0, slowestTold);
    const told = slowest.map(([file, seconds]) => `${file} ${seconds.toFixed(1)} s`);
    process.stdout.write(`\n  longest: ${told.join(", ")}\n`);
    const { passes, failures } = this.stats;
    if (process.env.CI_SUMMARY === undefined) return;
    writeFileSync(process.env.CI_SUMMARY, `${passes} passed, ${failures} failed\n`);
  }
};
