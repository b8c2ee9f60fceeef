/**
 * A disk that is full: the service answers 503, goes on reading, ends nothing, and takes and books
 * again by itself once there is room. Each store lies on a small disk of its own in turn.
 */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { onServers } from "../harness/backends.js";
import { type Merchant, openMerchant, whenBooked } from "../model/merchant.js";
import { SuiteService } from "../harness/service-process.js";
import { needTime } from "../harness/real-servers.js";
import { prepareProcess } from "../harness/stores.js";
import { severalAtOnce } from "../harness/promises.js";
import { sell, soldAmounts } from "../harness/till.js";

const diskMiB = 200;
/** Calls while the disk is full. */
const salesOnFull = 300;
const amountsOnFull = Array.from({ length: salesOnFull - 2 }, (_, index) => index + 2);

describe("a full disk", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  let started: string;
  let folder: string;
  let disk: string | undefined;
  let merchant: Merchant;

  before(function check() {
    if (onServers) this.skip();
    needTime(this);
    const refusal = whyNoDisks();
    if (refusal === null) return;
    if (process.env["CI"] === "true" && process.getuid?.() === 0) throw new Error(refusal);
    console.warn(`      not run: ${refusal}`);
    this.skip();
  });
  before(async () => {
    started = mkdtempSync(join(tmpdir(), "revenue-full-"));
    await prepareProcess(started);
    const { endpoint } = await service.start(started);
    merchant = await openMerchant(endpoint, "EUR");
    await service.kill();
  });
  afterEach(async () => {
    await service.kill();
    if (disk !== undefined) {
      execFileSync("umount", [disk]);
      rmSync(folder, { recursive: true, maxRetries: 5 });
    }
    disk = undefined;
  });
  after(() => {
    if (started !== undefined) rmSync(started, { recursive: true });
  });

  for (const store of ["log", "clickhouse", "postgres"] as const) {
    it(`should end nothing and lose nothing where ${store}/ has no room`, async () => {
      folder = mkdtempSync(join(tmpdir(), "revenue-full-"));
      cpSync(started, folder, { recursive: true });
      disk = moveToDisk(join(folder, store));
      await service.start(folder);
      const taken = [1];
      expect((await sell(merchant, 1)).status).to.equal(202);
      await whenBooked(merchant);

      const filler = join(disk, "filler");
      fill(filler);
      const refused: number[] = [];
      await severalAtOnce(amountsOnFull, async (amount) => {
        const answer = await sell(merchant, amount);
        (answer.status === 202 ? taken : refused).push(amount);
        if (answer.status === 202) return;
        expect(answer.status, await answer.text()).to.equal(503);
        expect(answer.headers.get("retry-after")).to.match(/^\d+$/);
      });
      if (store === "log") {
        expect(refused).not.to.have.length(0);
        const readiness = await fetch(`${merchant.endpoint.base}/readyz`);
        expect(readiness.status).to.equal(503);
        expect(await readiness.text()).to.match(/appending events \(.* disk has less than/);
      }
      expect(await statusOf(merchant, "/healthz")).to.equal(200);
      expect(await statusOf(merchant, "/v1/transactions")).to.equal(200);
      expect(service.exitCode).to.equal(null);

      rmSync(filler);
      if (store === "log") expect(await statusOf(merchant, "/readyz")).to.equal(200);
      await severalAtOnce([...refused, salesOnFull], async (again) => {
        await sellUntilTaken(merchant, again);
        taken.push(again);
      });
      await whenBooked(merchant);
      expect(service.exitCode).to.equal(null);
      expect(await soldAmounts(merchant)).to.eql(taken.sort((a, b) => a - b));
    });
  }
});

/** Null: file systems of a size of their own can be made here. */
function whyNoDisks(): string | null {
  const place = mkdtempSync(join(tmpdir(), "revenue-disk-"));
  try {
    mount(place);
    execFileSync("umount", [place]);
    return null;
  } catch (error) {
    return `no small disk can be mounted: ${error instanceof Error ? error.message : "unknown"}`;
  } finally {
    rmSync(place, { recursive: true });
  }
}

function mount(place: string): void {
  const options = ["-t", "tmpfs", "-o", `size=${diskMiB}m,mode=700`, "tmpfs", place];
  execFileSync("mount", options, { stdio: ["ignore", "ignore", "pipe"] });
}

/** @returns the folder, which is a file system of its own now */
function moveToDisk(folder: string): string {
  const aside = `${folder}.aside`;
  renameSync(folder, aside);
  mkdirSync(folder);
  mount(folder);
  cpSync(aside, folder, { recursive: true });
  rmSync(aside, { recursive: true });
  return folder;
}

/** To the last byte there is room for. */
function fill(file: string): void {
  const descriptor = openSync(file, "w");
  for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 4)) {
    const piece = Buffer.alloc(size);
    try {
      while (writeSync(descriptor, piece) > 0);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
    }
  }
  closeSync(descriptor);
}

async function statusOf({ endpoint, key }: Merchant, path: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${endpoint.base}${path}`, { headers })).status;
}

async function sellUntilTaken(merchant: Merchant, amount: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { status } = await sell(merchant, amount);
    if (status === 202) return;
    if (tries === 100) throw new Error(`still ${status} once there was room`);
    await pause(100);
  }
}
