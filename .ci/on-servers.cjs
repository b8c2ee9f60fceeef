/**
 * What CI runs on servers again, by `BACKENDS=servers`: all files would take it beyond the 20
 * minutes that people wait for it. Of each kind of thing those that reach furthest into the servers
 * are here; the others run there before a release, by `BACKENDS=servers npm test`.
 */
const all = require("../.mocharc.cjs");

const files = {
  stores: ["clickhouse", "migrations", "postgres", "state", "stored-objects"],
  endpoints: ["endpoints", "bad-input", "crash", "fixtures-twice", "first-receipt"],
  figures: ["tables", "figures", "queries", "walk", "series", "retention"],
  audit: ["audit"],
  explanations: ["explain"],
  exports: ["exports"],
  management: ["manage", "manage-providers", "skus", "vault"],
  "backup and replay": ["commands-on-servers", "past-rates"],
  "the socket": ["stream"],
};
const names = Object.values(files).flat();
const isOf = (path, name) => path.endsWith(`/${name}.test.js`);
const isGone = names.find((name) => !all.spec.some((path) => isOf(path, name)));
if (isGone !== undefined) throw new Error(`there is no ${isGone}.test.js`);
const spec = all.spec.filter((path) => names.some((name) => isOf(path, name)));

module.exports = { ...all, spec };
