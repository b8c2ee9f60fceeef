/**
 * Simulated portfolios: `npm run simulate -- --portfolios 1000 --seed 1`
 * (simulation/simulation.ts). A failure prints its seed and the smallest case found.
 */
import * as fc from "fast-check";
import { countOf, readWords } from "../ops/command-line.js";
import { nothingSeen } from "./pipeline/proof.js";
import { simulate, simulations } from "./simulation/simulation.js";

const usage = `npm run simulate -- [options]
  --portfolios <n>  how many (1000)
  --seed <n>        of a run that is to be repeated
  --path <path>     of the one portfolio to be repeated, as a failure reports it
`;
const { values } = readWords(usage, {
  options: {
    portfolios: { type: "string", default: "1000" },
    seed: { type: "string", default: String(1 + (Date.now() % 1_000_000)) },
    path: { type: "string" },
  },
});
const seed = countOf(usage, "seed", values.seed, 1_000_000_000);
const numRuns = countOf(usage, "portfolios", values.portfolios, 10_000_000);

const seen = nothingSeen();
// Date.now() is the simulation's.
const began = process.hrtime.bigint();
const found = await fc.check(
  fc.asyncProperty(simulations, (simulated) => simulate(simulated, seen)),
  {
    seed,
    numRuns,
    includeErrorInReport: true,
    ...(values.path === undefined ? {} : { path: values.path }),
  },
);
const minutes = Number(process.hrtime.bigint() - began) / 60e9;
const counts = Object.entries(seen).map(([name, count]) => `${count} ${name}`);
process.stdout.write(`seed ${seed}: ${counts.join(", ")}\n`);
process.stdout.write(`${Math.round(seen.portfolios / minutes)} portfolios a minute\n`);
if (found.failed) {
  const path = found.counterexamplePath ?? "";
  process.stderr.write(`${fc.defaultReportMessage(found) ?? "failed"}\n`);
  process.stderr.write(`repeat with: npm run simulate -- --seed ${seed} --path ${path}\n`);
} else process.stdout.write("every row and message was the model's\n");
process.exitCode = found.failed ? 1 : 0;
