/** Simulated portfolios one after the other; a failure prints its seed and the smallest case. */
import * as fc from "fast-check";
import { nothingSeen } from "../pipeline/proof.js";
import { simulate, simulations } from "./simulation.js";

/**
 * @param path of the one portfolio to be repeated, as a failure reports it
 * @returns the exit code
 */
export async function runSimulated(
  portfolios: number,
  seed: number,
  path?: string,
): Promise<number> {
  const seen = nothingSeen();
  // Date.now() is the simulation's.
  const began = process.hrtime.bigint();
  const property = fc.asyncProperty(simulations, (simulated) => simulate(simulated, seen));
  const found = await fc.check(property, {
    seed,
    numRuns: portfolios,
    includeErrorInReport: true,
    ...(path === undefined ? {} : { path }),
  });
  const minutes = Number(process.hrtime.bigint() - began) / 60e9;
  const counts = Object.entries(seen).map(([name, count]) => `${count} ${name}`);
  process.stdout.write(`seed ${seed}: ${counts.join(", ")}\n`);
  process.stdout.write(`${Math.round(seen.portfolios / minutes)} portfolios a minute\n`);
  if (found.failed) {
    const words = `--simulated 1 --seed ${seed} --path ${found.counterexamplePath ?? ""}`;
    process.stderr.write(`${fc.defaultReportMessage(found) ?? "failed"}\n`);
    process.stderr.write(`repeat with: npm run fuzz -- ${words}\n`);
    return 1;
  }
  process.stdout.write("every row and message was the model's\n");
  return 0;
}
