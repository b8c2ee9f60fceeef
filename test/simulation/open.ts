/** The processors over stores in memory: what a simulated process is given. */
import { setMaxListeners } from "node:events";
import { readConfig } from "../../config.js";
import { createLogger } from "../../runtime/logger.js";
import { addEdition, emptyQuoteTable, quoteFor, utcDay } from "../../schemas/money/rates.js";
import { openVault } from "../../stores/vault/vault.js";
import { readPackagedWideList, readPackedHistory } from "../../workspaces/rates/bundle.js";
import type { EnrichingService } from "../../processors/enrich/enrich-required.js";
import { RecentlyPublished } from "../../processors/enrich/recently-published.js";
import { RecentOutcomes } from "../../processors/normalize/outcome.js";
import { createProviders } from "../../providers/index.js";
import { openProviderApis } from "../../providers/api/provider-api.js";
import type { KeptAnswers, StoredAnswers } from "../../providers/api/stored-answers.js";
import type { KeptScope, StoredObjects } from "../../providers/api/stored-objects.js";
import { withAnswersInBodies } from "../model/compare/google-answers.js";
import type { Opened } from "../pipeline/process.js";
import type { Endpoint } from "../pipeline/raw-records.js";
import { type Book, MemoryState } from "./memory-state.js";
import { type MemoryLog, memoryLog, memoryTables } from "./memory-stores.js";
import type { World } from "./world.js";

const config = readConfig({});
const providers = createProviders(config);
/** Nobody is asked. */
const apis = openProviderApis(config);
const logger = createLogger("silent");
const vault = openVault("5".repeat(64));
const edition = 1;
const table = emptyQuoteTable();
const { first } = await readPackedHistory();
addEdition(table, edition, await readPackagedWideList(), [], first);

const rates = {
  edition,
  quote: (currency: string, base: string, atMs: number) =>
    quoteFor(table, { currency, base, day: utcDay(atMs), edition }),
  know: async () => {},
  ensureQuote: async () => {},
};

/** Everything outside of the processes of one run. */
export class Outside {
  readonly tables = memoryTables();
  readonly log: MemoryLog;
  readonly endpoint: Endpoint;
  readonly #books = new Map<number, Book>();
  readonly #objects = new Map<string, unknown>();
  readonly #answers = new Map<string, KeptAnswers>();

  constructor(
    private readonly world: World,
    private readonly baseCurrency: string,
    isShared: boolean,
  ) {
    this.log = memoryLog(isShared);
    this.endpoint = Object.assign(Object.create(null), {
      service: { vault, rates },
      providers,
      access: { workspace: "ws", environment: "live", baseCurrency },
    });
  }

  /** As a process has it that has just started. */
  async open(): Promise<Opened> {
    const { log } = this;
    const { clickhouse } = this.tables;
    const { signal: stopping } = new AbortController();
    // Each question under way listens.
    setMaxListeners(0, stopping);
    const normalizing: EnrichingService = Object.assign(Object.create(null), {
      clickhouse,
      log,
      logger,
      rates,
      vault,
      watermark: { callsInFlight: 0 },
      providers: withAnswersInBodies(providers),
      baseCurrencyOf: async () => this.baseCurrency,
      apis,
      integrations: { byId: async () => null },
      hadIntegration: async () => false,
      answersKept: async () => false,
      reported: new RecentlyPublished(),
      recent: new RecentOutcomes(),
      objects: this.#storedObjects(),
      storedAnswers: this.#storedAnswers(),
      customers: { keep: async () => {} },
      hashAccount: (...parts: readonly string[]) => `h:${parts.join(":")}`,
      stopping,
      keptNews: () => {},
      ratesKnown: () => {},
      answered: () => {},
    });
    const skus = { see: async () => {}, name: async () => {}, productName: async () => "" };
    const state = new MemoryState(this.#books);
    const booking: Opened["booking"] = Object.assign(Object.create(null), {
      clickhouse,
      log,
      logger,
      skus,
      state,
    });
    return { normalizing, booking, call: (work) => this.world.call(work) };
  }

  #storedObjects(): StoredObjects {
    const nameOf = ({ provider }: KeptScope, id: string): string => `${provider} ${id}`;
    return {
      keep: async (scope, objects) => {
        for (const { id, object } of objects) this.#objects.set(nameOf(scope, id), object);
        return objects.length > 0;
      },
      recall: async (scope, ids) =>
        new Map(
          ids.flatMap((id) => {
            const object = this.#objects.get(nameOf(scope, id));
            return object === undefined ? [] : [[id, object]];
          }),
        ),
    };
  }

  #storedAnswers(): StoredAnswers {
    return {
      recall: async ({ event_id: id }, step) => this.#answers.get(`${id} ${step}`) ?? null,
      keep: async ({ event_id: id }, step, answers) =>
        void this.#answers.set(`${id} ${step}`, answers),
      markPublished: async () => {},
    };
  }
}
