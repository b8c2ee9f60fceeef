/** The package that `npm pack` makes, installed with what it says it needs and nothing else. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { z } from "zod";
import { projectFile } from "../../runtime/project-root.js";
import { SuiteService } from "../harness/service-process.js";

const described = z.object({
  name: z.string(),
  bin: z.string(),
  dependencies: z.record(z.string(), z.string()),
});

describe("The package", () => {
  const service = new SuiteService();
  const { name, bin, dependencies } = described.parse(
    JSON.parse(readFileSync(projectFile("package.json"), "utf8")),
  );
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "package-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  it("should start the service where it is installed, with its pages", async function start() {
    this.timeout(240_000);
    const modules = join(folder, "node_modules");
    const installed = join(modules, name);
    mkdirSync(installed, { recursive: true });
    // It is built: the tests run from there.
    const words = ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder];
    const packed = execFileSync("npm", words, { cwd: projectFile(), encoding: "utf8" }).trim();
    execFileSync("tar", ["-xzf", join(folder, packed), "-C", installed, "--strip-components=1"]);
    for (const dependency of Object.keys(dependencies)) {
      mkdirSync(dirname(join(modules, dependency)), { recursive: true });
      symlinkSync(projectFile("node_modules", dependency), join(modules, dependency));
    }

    const { endpoint } = await service.start(join(folder, "data"), {}, join(installed, bin));
    for (const path of ["/", "/docs", "/docs/swagger-ui.css", "/docs/definitions.md"]) {
      const { status } = await fetch(endpoint.base + path);
      expect(status, path).to.equal(200);
    }
  });
});
