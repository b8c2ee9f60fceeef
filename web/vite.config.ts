/** How the dashboard is built. `npx vite web` serves it while it is worked on. */
import { defineConfig } from "vite";

/** The service a development server takes its answers from. */
const service = process.env.SERVICE_URL ?? "http://localhost:3000";

export default defineConfig({
  root: import.meta.dirname,
  build: {
    outDir: "../dist/web",
    emptyOutDir: true,
    target: "es2022",
    // The Content-Security-Policy allows files of this origin only, so nothing is put into a page.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      checks: { pluginTimings: false },
      // What most screens share comes in one file: two dozen small ones cost as many round trips.
      output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 5 }] } },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: {
    proxy: {
      "/v1": { target: service, ws: true },
      "/auth": { target: service },
      "/docs": { target: service },
    },
  },
});
