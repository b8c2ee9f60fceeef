/**
 * Two files at a time, each in one of two processes that stay to the end, a service open in each.
 * Those that take longest are begun first, so that both processes end together.
 */
const { readdirSync } = require("node:fs");

const folder = "dist/test";
const longFirst = ["backup", "tables", "crash", "backfill", "figures", "main"];
const files = readdirSync(folder).filter((name) => name.endsWith(".test.js"));
const isGone = longFirst.find((name) => !files.includes(fileOf(name)));
if (isGone !== undefined) throw new Error(`there is no ${folder}/${fileOf(isGone)}`);

module.exports = {
  spec: [...new Set([...longFirst.map(fileOf), ...files])].map((name) => `${folder}/${name}`),
  require: [`./${folder}/run.js`, `./${folder}/empty-database.js`],
  // On servers one process is enough: it would be two sets of them.
  parallel: ["BACKENDS", "TEST_DATABASE_URL"].every((name) => process.env[name] === undefined),
  jobs: 2,
  timeout: 60_000,
  exit: false,
};

function fileOf(name) {
  return `${name}.test.js`;
}
