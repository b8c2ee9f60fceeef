/**
 * The built service as its own process: killed without warning under load, again and again, it
 * loses nothing it acknowledged and counts nothing twice; asked to stop, it stops in good order.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { WebSocket } from "ws";
import type { ModelEvent } from "../model/facts.js";
import { type Endpoint, type Merchant, openMerchant, send, whenBooked } from "../model/merchant.js";
import { expectModel, largestPortfolio } from "../model/stories/largest-portfolio.js";
import type { Sent } from "../model/stories/story.js";
import { SuiteService } from "../harness/service-process.js";
import { prepareProcess } from "../harness/stores.js";

const kills = 3;
/** Into the load, so that a kill meets every step from the endpoint to the booking. */
const killAfterMsMax = 400;
const stopWithinMs = 10_000;
const sendersMax = 8;

describe("a process of its own", function suite() {
  this.timeout(300_000);
  const service = new SuiteService();
  const folder = mkdtempSync(join(tmpdir(), "revenue-crash-"));
  let settings: Readonly<Record<string, string>>;
  let endpoint: Endpoint;

  before(async () => {
    settings = await prepareProcess(folder);
    ({ endpoint } = await service.start(folder, settings));
  });
  after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

  it("should lose and double nothing when it is killed under load", async () => {
    const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
    const events = largestPortfolio(seed);
    const merchant = await openMerchant(endpoint, "EUR");
    const load = new Load(merchant, events);
    for (let round = 0; round < kills; round += 1) {
      await load.isFlowing();
      await pause((seed * (round + 7)) % killAfterMsMax);
      await service.kill();
      await service.start(folder, settings);
    }
    const reported = await load.finish();
    await whenBooked(merchant);
    expect(new Set(reported.map(({ id }) => id)).size).to.be.greaterThan(0);
    try {
      await expectModel(merchant, reported);
    } catch (error) {
      throw new Error(`repeat with FUZZ_SEED=${seed}`, { cause: error });
    }
  });

  it("should stop when asked: sockets reported, exit 0, the same figures after", async () => {
    const merchant = await openMerchant(endpoint, "USD");
    const events = largestPortfolio(1);
    const socket = new WebSocket(`${endpoint.base.replace("http", "ws")}/v1/events/stream`, {
      headers: { authorization: `Bearer ${merchant.key}` },
    });
    await once(socket, "open");
    const closed = once(socket, "close");
    const load = new Load(merchant, events);
    await load.isFlowing();
    const asked = Date.now();
    await service.stop();
    expect(service.exitCode, "exit code").to.equal(0);
    expect(Date.now() - asked).to.be.below(stopWithinMs);
    expect((await closed)[0], "close code").to.equal(1001);

    await service.start(folder, settings);
    const reported = await load.finish();
    await whenBooked(merchant);
    await expectModel(merchant, reported);
  });
});

/** Sends every event until it is acknowledged, and repeats old ones while the test goes on. */
class Load {
  readonly #reported = new Map<Sent, ModelEvent>();
  readonly #senders: Promise<void>[];
  #isFinishing = false;

  constructor(
    private readonly merchant: Merchant,
    private readonly events: readonly Sent[],
  ) {
    const waiting = [...events];
    this.#senders = Array.from({ length: sendersMax }, () => this.#run(waiting));
  }

  /** Resolves once the service has acknowledged something since the call. */
  async isFlowing(): Promise<void> {
    const before = this.acknowledged;
    while (this.acknowledged === before) await pause(1);
  }

  acknowledged = 0;

  /** @returns what was acknowledged: everything */
  async finish(): Promise<ModelEvent[]> {
    this.#isFinishing = true;
    await Promise.all(this.#senders);
    return [...this.#reported.values()];
  }

  async #run(waiting: Sent[]): Promise<void> {
    for (let turn = 0; ; turn += 1) {
      const event = waiting.shift() ?? this.#repeated(turn);
      if (event === null) return;
      try {
        this.#reported.set(event, await send(this.merchant, event));
        this.acknowledged += 1;
      } catch (error) {
        if (!isDown(error)) throw error;
        if (!this.#reported.has(event)) waiting.push(event);
        await pause(50);
      }
    }
  }

  #repeated(turn: number): Sent | null {
    return this.#isFinishing ? null : (this.events[turn % this.events.length] ?? null);
  }
}

/** The process was gone, went away during the call, or said that it cannot take it now. */
function isDown(error: unknown): boolean {
  return (
    error instanceof TypeError || (error instanceof Error && / answered 503/.test(error.message))
  );
}
