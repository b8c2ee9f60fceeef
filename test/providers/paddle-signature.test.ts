import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createPaddle } from "../../providers/paddle/index.js";

const paddle = createPaddle({ toleranceSeconds: 60 });
const nowSeconds = 1_763_600_000;
const now = nowSeconds * 1000;
const secret = "pdl_ntfset_01jdatlas_c2lnbmF0dXJl";
const body = Buffer.from('{"event_id":"evt_1"}');

/**
 * Published by Paddle: PaddleHQ/paddle-node-sdk @ b8ee4b12741d88abe5a33f5c8a74735c9ac3653f,
 * src/__tests__/notifications/webhooks-validator.node.test.ts.
 */
const published = {
  secret: "VALID_SECRET",
  header: "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9",
  body: '{"data": ["1", "2"]}',
  verifyAt: 1_698_796_800_000,
};

async function verdictOf(header: string | undefined, secrets = [secret]): Promise<string> {
  const verdict = await paddle.verify(
    { headers: { "paddle-signature": header }, body },
    secrets.map((signing_secret) => ({ signing_secret })),
    now,
  );
  return verdict.ok ? "ok" : verdict.reason;
}

/** Apart from `sign`, by Paddle's description: hex HMAC-SHA256 of `<ts>:<body>`. */
function h1(seconds: number, key = secret): string {
  return createHmac("sha256", key).update(`${seconds}:${body.toString()}`).digest("hex");
}

describe("Paddle's signature", () => {
  const vector = async (text: string) =>
    paddle.verify(
      { headers: { "paddle-signature": published.header }, body: Buffer.from(text) },
      [{ signing_secret: published.secret }],
      published.verifyAt,
    );

  it("should accept the published vector", async () => {
    expect(await vector(published.body)).to.deep.equal({ ok: true, verdict: "signature" });
  });

  it("should refuse the published vector with its blanks taken out", async () => {
    expect(await vector('{"data":["1","2"]}')).to.deep.equal({
      ok: false,
      reason: "signature_mismatch",
    });
  });

  it("should sign what it verifies, as Paddle describes it", () => {
    const { headers } = paddle.sign(body, { signing_secret: secret }, now);
    expect(headers["paddle-signature"]).to.equal(`ts=${nowSeconds};h1=${h1(nowSeconds)}`);
  });

  const t = nowSeconds;
  const good = h1(t);
  const bad = "0".repeat(64);
  const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
    ["no header", undefined, "signature_missing"],
    ["an empty header", "", "signature_missing"],
    ["text that is no signature", "hello", "signature_malformed"],
    ["no time", `h1=${good}`, "signature_malformed"],
    ["a time that is no number", `ts=now;h1=${good}`, "signature_malformed"],
    ["two times", `ts=${t};ts=${t};h1=${good}`, "signature_malformed"],
    ["no signature", `ts=${t}`, "signature_malformed"],
    ["only a scheme to come, even if right", `ts=${t};h2=${good}`, "signature_malformed"],
    ["Stripe's commas", `ts=${t},h1=${good}`, "signature_malformed"],
    ["a signature of another secret", `ts=${t};h1=${h1(t, "pdl_other")}`, "signature_mismatch"],
    ["a signature cut short", `ts=${t};h1=${good.slice(0, 62)}`, "signature_mismatch"],
    ["a signature in capitals", `ts=${t};h1=${good.toUpperCase()}`, "signature_mismatch"],
    ["a time that was not signed", `ts=${t - 1};h1=${good}`, "signature_mismatch"],
    ["the right one", `ts=${t};h1=${good}`, "ok"],
    ["blanks after the semicolons", `ts=${t}; h1=${good}`, "ok"],
    ["the right one last (a secret is rotated)", `ts=${t};h1=${bad};h1=${good}`, "ok"],
    ["the right one first, which Paddle's SDK refuses", `ts=${t};h1=${good};h1=${bad}`, "ok"],
    ["a scheme to come beside it", `ts=${t};h2=${bad};h1=${good}`, "ok"],
    ["60 seconds old", `ts=${t - 60};h1=${h1(t - 60)}`, "ok"],
    ["61 seconds old", `ts=${t - 61};h1=${h1(t - 61)}`, "signature_stale"],
    ["60 seconds ahead", `ts=${t + 60};h1=${h1(t + 60)}`, "ok"],
    ["61 seconds ahead", `ts=${t + 61};h1=${h1(t + 61)}`, "signature_stale"],
  ];
  for (const [title, header, verdict] of cases) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(header)).to.equal(verdict);
    });
  }

  it("should look past more signatures than a rotation needs", async () => {
    const many = Array.from({ length: 16 }, () => `h1=${bad}`).join(";");
    expect(await verdictOf(`ts=${t};${many};h1=${good}`)).to.equal("signature_mismatch");
  });

  it("should take a secret pasted with blanks, and any of several secrets", async () => {
    expect(await verdictOf(`ts=${t};h1=${good}`, ["pdl_old", ` ${secret}\n`])).to.equal("ok");
    expect(await verdictOf(`ts=${t};h1=${good}`, [])).to.equal("signature_mismatch");
  });
});

describe("Paddle's heading", () => {
  const event = {
    event_id: "evt_1",
    event_type: "transaction.completed",
    notification_id: "ntf_1",
  };
  const heading = { nativeId: "evt_1", nativeType: "transaction.completed", sandbox: null };
  const cases: readonly [title: string, given: unknown, expected: unknown][] = [
    [
      "the customer",
      { ...event, data: { id: "txn_1", customer_id: "ctm_1" } },
      { ...heading, accountHint: "ctm_1" },
    ],
    [
      "the entity without a customer",
      { ...event, data: { id: "pro_1" } },
      { ...heading, accountHint: "pro_1" },
    ],
    [
      "what the simulator sends as a test",
      { ...event, notification_id: "ntfsimntf_1", data: { id: "txn_1" } },
      { ...heading, sandbox: true, accountHint: "txn_1" },
    ],
    ["nothing from a plain entity", { id: "txn_1", status: "completed" }, null],
    ["nothing from an event without data", event, null],
  ];
  for (const [title, given, expected] of cases) {
    it(`should read ${title}`, () => {
      expect(paddle.heading(given)).to.deep.equal(expected);
    });
  }
});
