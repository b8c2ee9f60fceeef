/** Mocha's own report, and its counts in one line in the file named by CI_SUMMARY. */
const { writeFileSync } = require("node:fs");
const { reporters } = require("mocha");

module.exports = class extends reporters.Spec {
  epilogue() {
    super.epilogue();
    const { passes, failures } = this.stats;
    writeFileSync(process.env.CI_SUMMARY, `${passes} passed, ${failures} failed\n`);
  }
};
