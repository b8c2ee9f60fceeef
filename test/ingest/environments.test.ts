/** A test secret books nothing live, and the other way about. */
import { expect } from "chai";
import type { ProviderToken } from "../../providers/provider.js";
import { type Endpoints, openEndpoints } from "../harness/endpoints.js";
import { until } from "../log/log-contract.js";
import { cases, providers } from "../harness/provider-cases.js";

const stripe = (livemode: boolean) => ({
  id: `evt_${livemode}`,
  object: "event",
  type: "charge.succeeded",
  created: 1_700_000_000,
  livemode,
  data: { object: { id: "ch_1" } },
});
const paddle = (id: string) => ({
  event_id: id,
  event_type: "transaction.completed",
  data: { id: "txn_1" },
});
const lemon = (isTest: boolean) => ({
  meta: { event_name: "order_created", test_mode: isTest },
  data: { type: "orders", id: "1", attributes: {} },
});

const rows: [provider: ProviderToken, environment: string, body: object, isMismatch: boolean][] = [
  ["stripe", "live", stripe(false), true],
  ["stripe", "test", stripe(true), true],
  ["stripe", "live", stripe(true), false],
  ["stripe", "test", stripe(false), false],
  ["paddle", "Production", paddle("ntfsimevt_1"), true],
  ["paddle", "Test", paddle("ntfsimevt_1"), false],
  ["lemonsqueezy", "live", lemon(true), true],
  ["lemonsqueezy", "test", lemon(false), true],
  ["lemonsqueezy", "test", lemon(true), false],
];

describe("An event of the other environment than its integration", () => {
  let endpoints: Endpoints;
  before(async () => {
    endpoints = await openEndpoints();
  });

  for (const [index, [token, environment, body, isMismatch]] of rows.entries()) {
    const what = `${token} ${index} in ${environment}`;
    it(`should be ${isMismatch ? "a reject" : "read where they agree"}: ${what}`, async () => {
      const provider = providers.get(token);
      if (provider === undefined) throw new Error(token);
      const made = await endpoints.manage(
        "POST",
        `/workspaces/${endpoints.workspace}/integrations`,
        {
          provider: token,
          environment,
          credentials: cases[token]?.current,
        },
      );
      expect(made.status, made.text).to.equal(201);
      const bytes = Buffer.from(JSON.stringify(body));
      const { headers } = provider.sign(bytes, cases[token]?.current, Date.now());
      const answer = await endpoints.call(made.json.data.webhook_path, {
        method: "POST",
        headers,
        body: bytes,
      });
      expect(answer.status, answer.text).to.equal(200);
      const rejects = `/workspaces/${endpoints.workspace}/rejects?limit=200`;
      const reasonsOf = async (): Promise<string[]> =>
        (await endpoints.manage("GET", rejects)).json.data
          .filter((row: { id: string }) => row.id === answer.json.event_id)
          .map((row: { reason: string }) => row.reason);
      // None of these bodies is whole, so that each is a reject for one reason or the other.
      await until(async () => (await reasonsOf()).length > 0);
      expect((await reasonsOf()).includes("environment_mismatch")).to.equal(isMismatch);
    });
  }
});
