/** What is owed since credentials were entered outlives whoever entered or replayed them. */
import { expect } from "chai";
import { oweReplay, replayOwed } from "../../workspaces/rejects/credential-replays.js";
import { createIntegration } from "../../workspaces/integration-records.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { ReplayService } from "../../workspaces/rejects/replay.js";
import { openVault } from "../../stores/vault/vault.js";
import { passCredentialsSeen } from "../harness/enriching.js";
import { rejection } from "../harness/promises.js";
import { openTestPostgres } from "../harness/stores.js";

describe("A replay that is owed", () => {
  let postgres: Postgres;
  let integration: string;
  let asked: unknown[];
  const workspace = "ws_credential_replays";

  before(async () => {
    postgres = await openTestPostgres();
    await postgres.query(
      "INSERT INTO workspaces (id, name, base_currency) VALUES ($1, 'Owed', 'EUR')",
      [workspace],
    );
    const vault = openVault("ab".repeat(32));
    const given = { provider: "stripe", environment: "live" as const, name: null, credentials: {} };
    ({ id: integration } = await createIntegration(postgres, vault, workspace, given, new Date()));
  });
  beforeEach(async () => {
    asked = [];
    await oweReplay(postgres, integration);
  });
  afterEach(() => postgres.query("DELETE FROM credential_replays"));

  it("should wait until every process asks with the new credentials", async () => {
    await replay();
    await replay();
    expect(asked).to.deep.equal([]);
    await passCredentialsSeen({ postgres });
    await replay();
    expect(asked).to.deep.equal(["enrichment_unavailable", "enrichment_refused"]);
    await replay();
    expect(asked).to.have.length(2);
  });

  it("should be made by whoever comes next when it did not end", async () => {
    await replay();
    await passCredentialsSeen({ postgres });
    const failure = await rejection(replay(() => Promise.reject(new Error("killed"))));
    expect(String(failure)).to.include("killed");
    await replay();
    expect(asked).to.have.length(3);
  });

  it("should be owed still when credentials were entered while it went on", async () => {
    await replay();
    await passCredentialsSeen({ postgres });
    await replay(() => oweReplay(postgres, integration));
    asked = [];
    await replay();
    await passCredentialsSeen({ postgres });
    await replay();
    expect(asked).to.have.length(2);
  });

  /** @param meanwhile is done at each question for rejects; there are none */
  function replay(meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const clickhouse = {
      rows: async (_sql: string, params: Readonly<Record<string, unknown>>) => {
        expect(params).to.include({ workspace, provider: "stripe" });
        asked.push(params.reason);
        await meanwhile();
        return [];
      },
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no reject, so nothing more
    return replayOwed({ clickhouse, postgres } as unknown as ReplayService & {
      readonly postgres: Postgres;
    });
  }
});
