/** One call of the ingest endpoint. */
import type { Access } from "../workspaces/keys.js";
import type { IsMirrored } from "../workspaces/mirrored.js";
import type { Provider } from "../providers/provider.js";
import type { IngestService } from "./append-sealed.js";
import type { Receipts } from "./idempotency.js";

/** The call an event came with. */
export interface IngestCall {
  readonly service: Pick<IngestService, "rates">;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly access: Access;
  /** The recorded clock, ms since 1970. */
  readonly receivedAt: number;
  /**
   * What stands for the event's id when it has none: the Idempotency-Key, and its line in a
   * batch, together with what the event says (docs/decisions, Events known by a key). Null: it is
   * drawn.
   */
  readonly ownIdentity: string | null;
  /** As of the recorded clock. */
  readonly isMirrored: IsMirrored;
}

export interface IngestEndpoint {
  readonly service: IngestService;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly receipts: Receipts;
}
