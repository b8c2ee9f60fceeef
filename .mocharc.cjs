/**
 * Four files at a time, each in one of four processes that stay to the end, a service open in
 * each: two cores are then always busy. Those that take longest are begun first, so that all end
 * together.
 */
const { readdirSync } = require("node:fs");
const path = require("node:path");

const folder = "dist/test";
// Some of them only in CI: elsewhere they are over at once.
const longFirst = [
  "full-disk",
  "kafka",
  "kafka-brokers",
  "upgrade",
  "lost-rows",
  "backup",
  // It copies the catalogues of all workspaces, which other files make.
  "analytics-views",
  "roles",
  "move",
  "demo",
  "crash",
  "shell",
  "main",
  "dashboard",
  "settings",
  "state",
  "questions",
  "servers",
  "audit",
  "backfill-apple",
  "backfill",
  "append",
  "tasks",
  "alerts",
  "backfill-paddle",
  "lists",
  "clickhouse-cluster",
  "enrich",
  "reconciliation",
  "state-kills",
  "transaction-filters",
  "failed-payments",
  "killed-export",
  "fixtures-twice",
  "backfill-google",
  "figures",
  "digests",
  "tables",
  "past-rates",
  "explain",
  "log",
  "backfill-lemonsqueezy",
  "webhooks",
];
const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".test.js"))
  .map((name) => `${folder}/${name}`);

/** Mocha would add these files to those that are named. */
const isNamed = process.argv.some((word) => word.endsWith(".test.js"));
const all = [...new Set([...longFirst.map(fileOf), ...files])];

module.exports = {
  spec: isNamed ? [] : all,
  // Files that are named make the database when they need it.
  require: ["backends", "run", ...(isNamed ? [] : ["empty-database"])].map(
    (name) => `./${folder}/harness/${name}.js`,
  ),
  // A database that is given without more would be that of both.
  parallel:
    !isNamed && (process.env.BACKENDS !== undefined || process.env.TEST_DATABASE_URL === undefined),
  jobs: 4,
  timeout: process.env.BACKENDS === undefined ? 60_000 : 120_000,
  exit: false,
};

function fileOf(name) {
  const file = files.find((one) => path.basename(one) === `${name}.test.js`);
  if (file === undefined) throw new Error(`there is no ${name}.test.js in ${folder}`);
  return file;
}
