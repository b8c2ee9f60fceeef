#!/usr/bin/env node
/**
 * What `npx revenue-aggregation-service` runs. The engine's statements run in Node's thread pool,
 * whose size counts only before anything uses it: `import` would be too late.
 */
process.env.UV_THREADPOOL_SIZE ??= "16";
void import("../dist/main.js");
