/**
 * `npm run test:fast`, for a developer at work: the files that reach no store, server, browser or
 * process by any import, in one process.
 */
const { existsSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { spec } = require("../.mocharc.cjs");

const slow = [
  path.resolve("dist/test/harness/run.js"),
  "node:child_process",
  "chdb",
  "@electric-sql/pglite",
  "pg",
  "kafkajs",
  "lmdb",
  "playwright-core",
];

/** Seconds of drawn cases, and of long answers. */
const long = ["adapter-bounds", "answers"].map((name) => `${name}.test.js`);

module.exports = {
  spec: spec.filter(isFast),
  timeout: 10_000,
};

function isFast(file) {
  if (long.includes(path.basename(file))) return false;
  const reached = reachedBy(file);
  return !slow.some((name) => reached.has(name));
}

/** Files by their path, packages by their name. */
function reachedBy(file) {
  const reached = new Set();
  const open = [path.resolve(file)];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    if (!existsSync(next)) continue;
    for (const [, name] of readFileSync(next, "utf8").matchAll(
      /(?:from|import)\s*\(?\s*"([^"]+)"/g,
    ))
      open.push(name.startsWith(".") ? path.resolve(path.dirname(next), name) : name);
  }
  return reached;
}
