/** What a process has booked of a partition that another has taken meanwhile. */
import { expect } from "chai";
import { Bookkeeper } from "../../processors/book/bookkeeper.js";
import { TableWriter } from "../../processors/book/table-writer.js";
import { Fenced } from "../../stores/state/state.js";
import { factOf, recordsOf } from "../harness/facts.js";
import { payment, quoteOf } from "../harness/fact-bodies.js";
import { latch, rejection } from "../harness/promises.js";
import { testLogger as logger } from "../harness/stores.js";
import { type Book, MemoryState } from "../simulation/memory-state.js";
import { memoryLog, memoryTables } from "../simulation/memory-stores.js";
import { commitOf } from "../state/state-contract.js";

const log = { ...memoryLog(true), partitionOf: () => 0 };
const skus = { see: async () => {}, name: async () => {}, productName: async () => "" };

describe("A partition that another process has taken", () => {
  let books: Map<number, Book>;
  beforeEach(() => (books = new Map()));

  it("should be waited for by nobody here, whenever they began to wait", async () => {
    const state = new MemoryState(books);
    const taken = await state.take(0);
    const sequence = await taken.commit(commitOf(1, {}, { rest: "{}" }));
    await new MemoryState(books).take(0);
    const [isAsked, ask] = latch();
    const [isAnswered, answer] = latch();
    const isHeld = async () => {
      ask();
      await isAnswered;
      return taken.isHeld();
    };
    const owned = { ...taken, isHeld };
    const { clickhouse } = memoryTables();
    const writer = new TableWriter({ clickhouse, log, logger, state });
    const early = rejection(writer.written("rest", owned, sequence));
    await isAsked;
    const late = rejection(writer.written("rest", owned, sequence));
    answer();
    for (const error of [await early, await late]) expect(error).to.be.instanceOf(Fenced);
    await writer.close();
  });

  it("should be finished here when it comes back with nothing new", async () => {
    const { clickhouse } = memoryTables();
    const bookkeepers = ["here", "there"].map(() => {
      const state = new MemoryState(books);
      const bookkeeper = new Bookkeeper({ clickhouse, log, logger, skus, state });
      bookkeeper.hasten();
      return bookkeeper;
    });
    const [here, there] = bookkeepers;
    const fact = factOf(payment({}), { quote: quoteOf() });
    const handle = (bookkeeper = here) => bookkeeper?.handle(recordsOf([fact]));
    await (
      await handle()
    )?.finished;
    await handle(there);
    // As a consumer does: what fails is given again.
    expect(await rejection((await handle())?.finished ?? Promise.resolve())).to.be.instanceOf(
      Fenced,
    );
    await (
      await handle()
    )?.finished;
    for (const bookkeeper of bookkeepers) await bookkeeper.close().catch(() => undefined);
  });
});
