/** `npm run fuzz -- --simulated`, for a few seconds. */
import { expect } from "chai";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const program = fileURLToPath(new URL("../fuzz.js", import.meta.url));

async function simulate(portfolios: number, seed: number): Promise<string[]> {
  const options = ["--simulated", String(portfolios), "--seed", String(seed)];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...options]);
  return stdout.trim().split("\n");
}

describe("simulated portfolios", () => {
  it("should be booked as the model says, whatever happens first", async () => {
    const [counts, , verdict] = await simulate(60, 2);
    expect(verdict, counts).to.equal("every row and message was the model's");
  }).timeout(120_000);

  it("should be the same to the last step when a seed is run again", async () => {
    const [[first], [second]] = await Promise.all([simulate(10, 1), simulate(10, 1)]);
    expect(first).to.match(/^seed 1: \d+ batches, [1-9]\d* crashes, .* 10 portfolios/);
    expect(second).to.equal(first);
  }).timeout(120_000);
});
