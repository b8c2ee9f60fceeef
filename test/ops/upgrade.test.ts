/**
 * Data that an earlier version made: this version starts with it, gives the same figures to the
 * cent, and goes on. Earlier versions are the tags of this tree's history, and before the first one
 * the commit whose data 1.0.0 takes; each is built from git.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { z } from "zod";
import { projectFile } from "../../runtime/project-root.js";
import { needTime } from "../harness/real-servers.js";
import { runCommand, SuiteService } from "../harness/service-process.js";
import { answersOf } from "../model/compare/answers.js";
import { type Merchant, openMerchant, sendAll, whenBooked } from "../model/merchant.js";
import { clocksOf, expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";

/** The last 0.1.0 (docs/operating.md, Upgrades). */
const untagged = "b5fee71e";

describe("An upgrade", function suite() {
  this.timeout(600_000);
  const service = new SuiteService();
  const root = mkdtempSync(join(tmpdir(), "revenue-upgrade-"));

  before(function () {
    needTime(this);
  });
  after(() => rmSync(root, { recursive: true, maxRetries: 5 }));

  for (const version of earlierVersions()) {
    it(`should go on with the data of ${version}, to the cent`, async function () {
      if (git("cat-file", "-t", version) === "") {
        process.stderr.write(`Left out: this copy of the tree has no history back to ${version}\n`);
        this.skip();
      }
      const data = join(root, `data-${version}`);
      const earlier = await service.start(data, {}, buildOf(version));
      const opened = await openMerchant(earlier.endpoint, "EUR");
      const events = largestPortfolio();
      const half = Math.floor(events.length / 2);
      await sendAll(opened, events.slice(0, half));
      const clocks = clocksOf(await whenBooked(opened));
      const before = await answersOf(opened, clocks);
      await service.stop();

      const { endpoint } = await service.start(data);
      const merchant: Merchant = { ...opened, endpoint };
      const after = await answersOf(merchant, clocks);
      expect([...after.keys()]).to.deep.equal([...before.keys()]);
      for (const [asked, answer] of before) expectKept(after.get(asked), answer, asked);
      // The first half comes again, and counts once.
      const sent = await sendAll(merchant, events);
      await whenBooked(merchant);
      await expectModel(merchant, sent);
      await service.stop();
      const audited = await runCommand(data, ["audit"]);
      expect(audited.reported).to.match(/^No differences \([1-9]\d* rows compared\)/m);
    });
  }

  /** @returns its program */
  function buildOf(version: string): string {
    const folder = mkdtempSync(join(root, "version-"));
    const archive = join(folder, "archive.tar");
    git("archive", "--output", archive, version);
    execFileSync("tar", ["-xf", archive, "-C", folder]);
    const modules = join(folder, "node_modules");
    const here = dependenciesIn(projectFile());
    if (Object.entries(dependenciesIn(folder)).every(([name, at]) => here[name] === at)) {
      symlinkSync(projectFile("node_modules"), modules);
    } else {
      const words = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
      execFileSync("npm", words, { cwd: folder });
    }
    const compiler = join(modules, "typescript", "bin", "tsc");
    execFileSync(process.execPath, [compiler, "--noCheck", "-p", folder]);
    return join(folder, "dist", "main.js");
  }
});

function earlierVersions(): string[] {
  if (!existsSync(projectFile(".git"))) return [untagged];
  const tags = git("tag", "--list", "v*", "--merged", "HEAD", "--no-contains", "HEAD");
  return tags === "" ? [untagged] : tags.split("\n");
}

/** @returns what it says; nothing where it fails */
function git(...words: string[]): string {
  try {
    return execFileSync("git", words, {
      cwd: projectFile(),
      stdio: ["ignore", "pipe", "ignore"],
      encoding: "utf8",
    }).trim();
  } catch {
    return "";
  }
}

/** @returns their versions by name */
function dependenciesIn(folder: string): Readonly<Record<string, string>> {
  const text = readFileSync(join(folder, "package.json"), "utf8");
  const versions = z.record(z.string(), z.string());
  return z.object({ dependencies: versions }).parse(JSON.parse(text)).dependencies;
}

/** A later version may say more, and nothing else. */
function expectKept(found: unknown, expected: unknown, where: string): void {
  if (Array.isArray(expected)) {
    expect(found, where).to.be.an("array").with.lengthOf(expected.length);
    expected.forEach((one, index) => expectKept(Object(found)[index], one, `${where}[${index}]`));
  } else if (typeof expected === "object" && expected !== null) {
    for (const [name, value] of Object.entries(expected)) {
      expectKept(Object(found)[name], value, `${where}.${name}`);
    }
  } else expect(found, where).to.equal(expected);
}
