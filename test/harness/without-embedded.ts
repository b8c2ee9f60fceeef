/**
 * `node --import …/without-embedded.js`: as if the embedded engines were not installed, as in the
 * image of the Dockerfile.
 */
import { type ResolveHook, register } from "node:module";
import { isMainThread } from "node:worker_threads";

// Node runs hooks in a thread of their own, from the same file.
if (isMainThread) register(import.meta.url);

const left = /^(chdb|lmdb|@electric-sql\/pglite)(\/|$)/;

export const resolve: ResolveHook = (specifier, context, next) => {
  if (left.test(specifier)) throw new Error(`${specifier} is not in the image`);
  return next(specifier, context);
};
