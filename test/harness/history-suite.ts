/**
 * What the backfill of every provider is held to: whatever its API does meanwhile, and whatever
 * webhooks report beside it, the figures are those that webhooks alone come to.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect } from "chai";
import type { Signed } from "../../providers/provider.js";
import type { ReconciliationView } from "../../schemas/http/manage.js";
import { answered, cut, type Failure, tooMany } from "../apis/failures.js";
import { type Endpoints, openEndpoints, suiteEndpoints } from "./endpoints.js";
import {
  backfilled,
  backfilledBetween,
  endedReconciliation,
  type Figures,
  figuresOf,
  monthsOf,
  reconciled,
  type ShownBackfill,
} from "./histories.js";
import { untilThere } from "./promises.js";

/** A server that answers as the provider's API does. */
interface Api {
  misbehave: ((request: IncomingMessage, response: ServerResponse) => boolean) | null;
}

export interface History<One> {
  readonly provider: string;
  /** A day. */
  readonly from: string;
  /** Customers or purchases that are named, where the API lists none. */
  readonly ids?: () => readonly string[];
  /** Left out where files are read. */
  readonly api?: (endpoints: Endpoints) => Api;
  readonly credentials: (endpoints: Endpoints) => object;
  /** Gives the API what it answers. */
  readonly prepare?: (endpoints: Endpoints) => void;
  /** As webhooks have reported it. */
  readonly reported: () => readonly One[];
  readonly sign: (one: One) => Signed;
  /** At which MRR is looked at. */
  readonly moments: readonly string[];
  /** False while something is yet to come that follows what is booked: names, countries. */
  readonly isWhole?: (figures: Figures) => boolean;
}

interface Connected {
  readonly of: Endpoints;
  readonly id: string;
  readonly webhook: string;
}

const failures: readonly Failure[] = [tooMany, answered(500), cut, answered(503)];

/** Less than the tries of a call. */
const pathFailuresMax = 2;

/** Of the suite in which it is made: opened before its tests. */
export class HistorySuite<One> {
  readonly endpoints = suiteEndpoints();
  #own: Connected | undefined;
  #alone: Figures | undefined;

  constructor(private readonly history: History<One>) {
    before(async () => {
      history.prepare?.(this.endpoints);
      const { of, webhook } = await this.fresh();
      await this.deliver(of, webhook, history.reported());
      this.#alone = await this.figures(of);
      this.#own = await this.connect(this.endpoints);
    });
    afterEach(() => {
      if (history.api !== undefined) this.api.misbehave = null;
    });
  }

  get api(): Api {
    return must(this.history.api?.(this.endpoints));
  }

  /** Of the suite's workspace, where no webhook reports anything. */
  get integration(): string {
    return must(this.#own).id;
  }

  /** Of that integration. */
  get webhook(): string {
    return must(this.#own).webhook;
  }

  /** What webhooks alone come to. */
  get alone(): Figures {
    return must(this.#alone);
  }

  async figures(of: Endpoints): Promise<Figures> {
    const { moments, isWhole = () => true } = this.history;
    return untilThere(async () => {
      const figures = await figuresOf(of, moments);
      return isWhole(figures) ? figures : null;
    });
  }

  /** A workspace of its own, with an integration. */
  async fresh(): Promise<Connected> {
    return this.connect(await openEndpoints({ hasStripe: false }));
  }

  /** @param more beside the credentials, or instead of one */
  async connect(of: Endpoints, more: object = {}): Promise<Connected> {
    const credentials = { ...this.history.credentials(this.endpoints), ...more };
    const made = await of.integrate(this.history.provider, credentials);
    return { of, id: made.id, webhook: made.webhook_path };
  }

  async deliver(of: Endpoints, webhook: string, some: readonly One[]): Promise<void> {
    for (const one of some) {
      const answer = await of.post(webhook, this.history.sign(one));
      expect(answer.status, answer.text).to.equal(200);
    }
  }

  /** Into the suite's workspace, with the ids there are, or these. */
  read(ids = this.history.ids?.()): Promise<ShownBackfill> {
    return backfilled(this.endpoints, this.integration, this.history.from, ids);
  }

  /**
   * The same, while one call of so many fails, each time in the next of these ways. No path fails
   * so often that the service gives up: calls that run side by side could take turns so.
   */
  async readThroughFailures(
    every: number,
    given: { readonly ids?: readonly string[]; readonly ways?: readonly Failure[] } = {},
  ): Promise<ShownBackfill> {
    const { ids, ways = failures } = given;
    let calls = 0;
    const failed = new Map<string, number>();
    this.api.misbehave = ({ url = "" }, response) => {
      calls += 1;
      const before = failed.get(url) ?? 0;
      if (calls % every !== 0 || before === pathFailuresMax) return false;
      failed.set(url, before + 1);
      ways[(calls / every - 1) % ways.length]?.(response);
      return true;
    };
    const done = await this.read(ids);
    expect(done, done.problem ?? "").to.include({ state: "done", problem: null });
    return done;
  }

  itComesToTheSame(): void {
    it("should come to the figures that webhooks alone come to", async () => {
      expect(await this.figures(this.endpoints)).to.deep.equal(this.alone);
    });
  }

  /**
   * @param seeds of orders in which webhooks come, all read at a time
   * @param arrange what the API answers meanwhile
   */
  itChangesNothing(seeds: readonly number[], arrange: () => void = () => undefined): void {
    const which = seeds.join(", ");
    it(`should change nothing when it reads again, or webhooks overlap (${which})`, async () => {
      arrange();
      await Promise.all(seeds.map((seed) => this.#overlap(seed)));
    });
  }

  async #overlap(seed: number): Promise<void> {
    const { from, ids, reported } = this.history;
    const { of, id, webhook } = await this.fresh();
    await backfilledBetween(of, {
      id,
      from,
      ...(ids === undefined ? {} : { ids: ids() }),
      reported: reported(),
      seed,
      deliver: (some) => this.deliver(of, webhook, some),
    });
    expect(await this.figures(of), `seed ${seed}`).to.deep.equal(this.alone);
  }

  /** @param months of which it lists something, all after the first day that is read */
  itFetchesWhatIsMissing(months: { readonly from: string; readonly to: string }): void {
    it("should book by one call what a comparison found missing", async () => {
      const reasonsOf = ({ months: compared }: ReconciliationView): string[] => {
        const all = compared.flatMap(({ report }) => Object.keys(report?.reasons ?? {}));
        return [...new Set(all)];
      };
      const { of, id } = await this.fresh();
      expect(reasonsOf(await reconciled(of, id, months))).to.deep.equal(["before_connection"]);
      expect(await backfilled(of, id, `${months.from}-01`)).to.include({ state: "done" });
      // What was compared is compared again by itself.
      const found = await endedReconciliation(of, id, months);
      expect(reasonsOf(found)).to.deep.equal([]);
      expect(found.score_pct).to.equal(100);
    });
  }

  /**
   * @param given.isRead whether a call begins to read what changes
   * @param given.readings how many came before it changes: the comparison reads it once more
   * @param given.change until it is undone
   */
  itReportsADifference(given: {
    readonly isRead: (url: URL) => boolean;
    readonly readings: number;
    readonly change: () => () => void;
    readonly look?: (different: ShownBackfill) => void;
  }): void {
    it("should report a difference, and not call it done", async () => {
      let readings = 0;
      let undo = (): void => undefined;
      this.api.misbehave = ({ url = "" }) => {
        if (!given.isRead(new URL(url, "http://api.test"))) return false;
        readings += 1;
        if (readings === given.readings) undo = given.change();
        return false;
      };
      const different = await this.read().finally(() => undo());
      expect(different).to.include({ state: "different" });
      expect(monthsOf(different).filter((month) => month.endsWith("other"))).to.have.lengthOf(1);
      given.look?.(different);
    });
  }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("the suite is not open yet");
  return value;
}
