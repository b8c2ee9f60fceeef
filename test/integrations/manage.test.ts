import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import { checkBackup } from "../../stores/backup/restore.js";
import { clickhouseTime } from "../../stores/clickhouse/rows.js";
import { changeIntegration } from "../../workspaces/integration-records.js";
import { openIntegrations } from "../../workspaces/integrations.js";
import { insertRejects, listRejects } from "../../workspaces/rejects/rejects.js";
import { replayAll } from "../../workspaces/rejects/replay.js";
import { sealRawEvent, openVault } from "../../stores/vault/vault.js";
import { limits } from "../../config.js";
import { createCustom } from "../../providers/custom/index.js";
import { recordBody } from "../../ops/payloads/custom.js";
import { eventId } from "../../schemas/ids.js";
import { rawEventCodec, topics } from "../../schemas/records/records.js";
import {
  type Answer,
  expectError,
  newStripeEvent,
  openEndpoints,
  signingSecret,
  stripe,
  suiteEndpoints,
} from "../harness/endpoints.js";
import { metaOf } from "../harness/facts.js";

const custom = createCustom({ toleranceSeconds: 300 });
const endpoints = suiteEndpoints();
let path: string;
before(() => ({ path } = endpoints));

describe("The management interface", () => {
  const withToken = (authorization: string | null, where = "/v1/manage/workspaces") =>
    endpoints.call(where, authorization === null ? {} : { headers: { authorization } });
  const refused: [title: string, code: string, call: () => Promise<Answer>][] = [
    ["no token", "key_missing", () => withToken(null)],
    ["a workspace key", "admin_token_wrong", () => withToken(`Bearer ${endpoints.key}`)],
    ["a wrong token", "admin_token_wrong", () => withToken(`Bearer ${endpoints.adminToken}x`)],
    [
      "no token on the way to one workspace",
      "key_missing",
      () => withToken(null, `/v1/manage${path}/keys`),
    ],
  ];
  it("should ask for the administrator token, and not for a key", async () => {
    const { error } = (await withToken(null)).json;
    expect(error.message).to.include("Authorization: Bearer <administrator token>");
  });

  for (const [title, code, call] of refused) {
    it(`should refuse ${title}`, async () => {
      expectError(await call(), `401 ${code}`);
    });
  }

  it("should refuse every call without the token, however its path is spelt", async () => {
    const { router } = endpoints.service;
    const routes = router.stack.filter(({ path: route }) => String(route).startsWith("/v1/manage"));
    expect(routes).to.have.length.above(20);
    const spellings = routes.flatMap(({ methods, path: route }) => {
      const plain = String(route).replace(":workspace", endpoints.workspace).replace(/:\w+/g, "x");
      const other = plain.replace("manage", "Manage");
      return methods.flatMap((method) => [
        { method, where: plain, expected: 401 },
        { method, where: `${plain}/`, expected: 401 },
        { method, where: other, expected: 404 },
      ]);
    });
    const answers = await Promise.all(
      spellings.map(async (one) => ({
        ...one,
        got: (await fetch(endpoints.base + one.where, { method: one.method })).status,
      })),
    );
    expect(answers.filter(({ got, expected }) => got !== expected)).to.deep.equal([]);
  });

  const key = { environment: "Test", scope: "Read-only" };
  const [past, tooLate] = ["2020-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"];
  const integration = { provider: "stripe", environment: "Test", credentials: {} };
  const unknown = { ...integration, credentials: { signing_secret: "a", pin: 1 } };
  const wrong: [where: string, body: unknown, code: string, param: string][] = [
    ["/workspaces", {}, "field_invalid", "name"],
    ["/workspaces", [], "field_invalid", "body"],
    ["/workspaces", { name: "A", base_currency: "CHF" }, "field_invalid", "base_currency"],
    ["/workspaces", { name: "", base_currency: "USD" }, "field_invalid", "name"],
    ["/workspaces", { name: "A", base_currency: "USD", x: 1 }, "field_unknown", "x"],
    ["/keys", { ...key, environment: "staging" }, "field_invalid", "environment"],
    ["/keys", { ...key, expires_at: past }, "expires_at_past", "expires_at"],
    ["/keys", { ...key, expires_at: tooLate }, "expires_at_too_late", "expires_at"],
    ["/integrations", { ...integration, provider: "acme" }, "provider_unknown", "provider"],
    ["/integrations", integration, "credential_invalid", "credentials.signing_secret"],
    ["/integrations", unknown, "credential_unknown", "credentials.pin"],
  ];
  for (const [where, body, code, param] of wrong) {
    it(`should answer ${JSON.stringify(body)} to ${where} with 422 ${code}`, async () => {
      const whole = where === "/workspaces" ? where : path + where;
      expectError(await endpoints.manage("POST", whole, body), `422 ${code} ${param}`);
    });
  }

  it("should answer bad bodies as everywhere", async () => {
    const post = (body: string | Buffer, type = "application/json") =>
      endpoints.call("/v1/manage/workspaces", {
        method: "POST",
        headers: { authorization: `Bearer ${endpoints.adminToken}`, "content-type": type },
        body,
      });
    const deep = `{"name":${"[".repeat(64)}${"]".repeat(64)}}`;
    const bad: [body: string | Buffer, status: number, code: string][] = [
      ["{", 400, "json_malformed"],
      ["1", 400, "json_malformed"],
      ['{"__proto__":1}', 400, "json_forbidden_key"],
      [deep, 400, "json_too_deep"],
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400, "json_not_utf8"],
      ['{"name":"a\\u0000b","base_currency":"EUR"}', 422, "field_invalid"],
      ['{"name":"a\\ud800b","base_currency":"EUR"}', 422, "field_invalid"],
    ];
    for (const [body, status, code] of bad) expectError(await post(body), `${status} ${code}`);
    expectError(
      await post("a=1", "application/x-www-form-urlencoded"),
      "415 content_type_unsupported",
    );
    expectError(await post(" ".repeat(1024 * 1024 + 1)), "413 body_too_large");
    const nothing = await endpoints.manage("POST", "/workspaces");
    expectError(nothing, "415 content_type_unsupported");
  });

  it("should say what there is not", async () => {
    for (const [where, error] of [
      ["/workspaces/ws_none", "404 workspace_unknown"],
      ["/workspaces/ws_none/keys", "404 workspace_unknown"],
      ["/nothing", "404 path_unknown"],
    ] as const) {
      expectError(await endpoints.manage("GET", where), error);
    }
    for (const what of ["keys/key_none", "integrations/int_none"]) {
      expect((await endpoints.manage("DELETE", `${path}/${what}`)).status).to.equal(404);
    }
    const product = await endpoints.manage("PATCH", `${path}/products/none`, {});
    expectError(product, "404 product_unknown");
  });
});

describe("Managed workspaces and keys", () => {
  it("should create, list and show a workspace", async () => {
    const given = { name: "Ünique ✓", base_currency: "JPY" };
    const created = await endpoints.manage("POST", "/workspaces", given);
    expect(created.status).to.equal(201);
    expect(created.json.data).to.include(given);
    const { id } = created.json.data;
    expect(id).to.match(/^ws_[0-9A-Za-z]{20}$/);
    const shown = await endpoints.manage("GET", `/workspaces/${id}`);
    expect(shown.json).to.deep.equal({ status: "success", data: created.json.data });
  });

  it("should walk all keys by pages, newest first, each once, though more are made", async () => {
    const made = await endpoints.manage("POST", "/workspaces", { name: "P", base_currency: "USD" });
    const where = `/workspaces/${made.json.data.id}/keys`;
    const make = async () => {
      const body = { environment: "Test", scope: "Read-only" };
      return String((await endpoints.manage("POST", where, body)).json.data.id);
    };
    const ids: string[] = [];
    for (let keys = 0; keys < 5; keys++) ids.unshift(await make());
    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const query: string = cursor === "" ? "?limit=2" : `?cursor=${cursor}`;
      const page: Answer = await endpoints.manage("GET", where + query);
      seen.push(...page.json.data.map((row: { id: string }) => row.id));
      cursor = page.json.pagination.next_cursor;
      expect(page.json.pagination.has_more).to.equal(cursor !== null);
      await make();
    }
    expect([...seen].sort()).to.deep.equal([...ids].sort());
    expect(new Set(seen).size).to.equal(5);
  });

  it("should refuse a cursor of another list and wrong limits", async () => {
    const list = await endpoints.manage("GET", "/workspaces?limit=1");
    const cursor = String(list.json.pagination.next_cursor);
    for (const [where, code, param] of [
      [`${path}/keys?cursor=${cursor}`, "cursor_invalid", "cursor"],
      [`/workspaces?cursor=${cursor.slice(0, -2)}aa`, "cursor_invalid", "cursor"],
      ["/workspaces?limit=0", "parameter_invalid", "limit"],
      ["/workspaces?limit=201", "parameter_invalid", "limit"],
      ["/workspaces?page=2", "parameter_unknown", "page"],
    ] as const) {
      expectError(await endpoints.manage("GET", where), `400 ${code} ${param}`);
    }
  });

  for (const [written, shown] of [
    ["live", "Production"],
    ["test", "Test"],
    ["Test", "Test"],
  ]) {
    it(`should take ${written} for the environment ${shown}`, async () => {
      const { status, json } = await endpoints.manage("POST", `${path}/keys`, {
        environment: written,
        scope: "Read-only",
      });
      expect([status, json.data.environment]).to.deep.equal([201, shown]);
    });
  }

  it("should show a key only once, and then its prefix", async () => {
    const body = { environment: "Test", scope: "Full Ingress", name: "CI" };
    const made = await endpoints.manage("POST", `${path}/keys`, body);
    const { key, id, prefix } = made.json.data;
    expect(key).to.match(/^svc_test_/);
    expect(key.startsWith(prefix)).to.equal(true);
    expect(made.headers.get("cache-control")).to.equal("no-store");
    const list = await endpoints.manage("GET", `${path}/keys`);
    expect(list.text).to.not.include(key);
    const row = list.json.data.find((one: { id: string }) => one.id === id);
    expect(row).to.include({ ...body, prefix, revoked_at: null, last_used_at: null });
    const revoked = await endpoints.manage("DELETE", `${path}/keys/${id}`);
    expect(revoked.json.data.revoked_at).to.be.a("string");
    const again = await endpoints.manage("DELETE", `${path}/keys/${id}`);
    expect(again.json.data.revoked_at).to.equal(revoked.json.data.revoked_at);
  });

  const hourMs = 60 * 60 * 1000;
  const inAWeek = new Date(Date.now() + 7 * 24 * hourMs).toISOString();
  const overlaps: [
    overlap: string,
    hours: number,
    expires: string | null,
    status: number,
    what: string,
  ][] = [
    ["none", 0, null, 401, "end the old key at once"],
    ["1h", 1, null, 200, "let the old key go on for an hour"],
    ["24h", 24, null, 200, "let the old key go on for a day"],
    ["7d", 168, null, 200, "let the old key go on for a week"],
    ["24h", 24, inAWeek, 200, "shorten what the old key had left"],
  ];
  for (const [overlap, hours, expires, status, what] of overlaps) {
    it(`should roll a key and ${what}`, async () => {
      const given = { environment: "Test", scope: "Full Ingress", name: "Rolled" };
      const expiry = expires === null ? {} : { expires_at: expires };
      const before = (await endpoints.manage("POST", `${path}/keys`, { ...given, ...expiry })).json
        .data;
      const rolled = await endpoints.manage("POST", `${path}/keys/${before.id}/roll`, {
        old_valid_for: overlap,
      });
      expect(rolled.status, rolled.text).to.equal(201);
      const next = rolled.json.data;
      expect(next).to.include(given);
      expect(next.key)
        .to.match(/^svc_test_/)
        .and.not.equal(before.key);
      const life = expires === null ? null : Date.parse(expires) - Date.parse(before.created_at);
      expect(next.expires_at === null ? null : lifeOf(next)).to.equal(life);
      expect((await endpoints.get("/v1/metrics/mrr", next.key)).status).to.equal(200);
      expect((await endpoints.get("/v1/metrics/mrr", before.key)).status).to.equal(status);

      const list = await endpoints.manage("GET", `${path}/keys`);
      const old = list.json.data.find((one: { id: string }) => one.id === before.id);
      const ended = hours === 0 ? old.revoked_at : old.expires_at;
      expect(Date.parse(ended) - Date.parse(next.created_at)).to.equal(hours * hourMs);
    });
  }

  const lifeOf = (key: { expires_at: string; created_at: string }): number =>
    Date.parse(key.expires_at) - Date.parse(key.created_at);

  it("should let a key that ends sooner than the overlap end as it would have", async () => {
    const expires_at = new Date(Date.now() + hourMs).toISOString();
    const given = { environment: "Test", scope: "Read-only", expires_at };
    const { id } = (await endpoints.manage("POST", `${path}/keys`, given)).json.data;
    await endpoints.manage("POST", `${path}/keys/${id}/roll`, { old_valid_for: "7d" });
    const list = await endpoints.manage("GET", `${path}/keys`);
    const old = list.json.data.find((one: { id: string }) => one.id === id);
    expect(old.expires_at).to.equal(expires_at);
  });

  it("should not roll a key that has ended, nor one that is unknown", async () => {
    const given = { environment: "Test", scope: "Read-only" };
    const { id } = (await endpoints.manage("POST", `${path}/keys`, given)).json.data;
    await endpoints.manage("DELETE", `${path}/keys/${id}`);
    const body = { old_valid_for: "24h" };
    const ended = await endpoints.manage("POST", `${path}/keys/${id}/roll`, body);
    expect([ended.status, ended.json.error.code]).to.deep.equal([409, "key_ended"]);
    const unknown = await endpoints.manage("POST", `${path}/keys/key_none/roll`, body);
    expect([unknown.status, unknown.json.error.code]).to.deep.equal([404, "key_unknown"]);
    const odd = await endpoints.manage("POST", `${path}/keys/${id}/roll`, { old_valid_for: "9d" });
    expect([odd.status, odd.json.error.param]).to.deep.equal([422, "old_valid_for"]);
  });
});

describe("Managed integrations", () => {
  const create = async () => {
    const made = await endpoints.manage("POST", `${path}/integrations`, {
      provider: "stripe",
      environment: "Test",
      name: "Shop",
      credentials: { signing_secret: "whsec_old" },
    });
    return made.json.data;
  };
  const deliver = (where: string, secret: string, livemode?: boolean) => {
    const body = Buffer.from(JSON.stringify(newStripeEvent({ livemode })));
    return endpoints.post(where, stripe.sign(body, { signing_secret: secret }, Date.now()));
  };

  it("should give a URL of its own and never a secret", async () => {
    const made = await create();
    expect(made.webhook_url).to.equal(`${endpoints.base}${made.webhook_path}`);
    expect(made.webhook_path).to.match(/^\/v1\/webhooks\/[0-9A-Za-z]{32}$/);
    const list = await endpoints.manage("GET", `${path}/integrations`);
    const ids = list.json.data.map((row: { id: string }) => row.id);
    expect(ids).to.include(made.id);
    expect(list.text).to.not.match(/whsec_/);
    const rows = await endpoints.service.postgres.query("SELECT * FROM integrations");
    expect(JSON.stringify(rows)).to.not.include(made.webhook_path.split("/").at(-1));
    expect(Buffer.from(JSON.stringify(rows)).includes(signingSecret)).to.equal(false);
  });

  it("should make a custom integration's secret, show it once, take what it signs", async () => {
    const input = { provider: "custom", environment: "Production", credentials: {} };
    const made = await endpoints.manage("POST", `${path}/integrations`, input);
    const { id, webhook_path: where, credentials } = made.json.data;
    expect(credentials.signing_secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect((await endpoints.manage("GET", `${path}/integrations`)).text).to.not.match(/whsec_/);

    const send = async (secret: string) => {
      const sale = { eventType: "transaction.sale", amountMinor: 500n, currency: "EUR" } as const;
      const body = recordBody(sale);
      return endpoints.post(where, custom.sign(body, { signing_secret: secret }, Date.now()));
    };
    expect((await send(credentials.signing_secret)).status).to.equal(200);

    const one = `${path}/integrations/${id}`;
    const again = await endpoints.manage("PATCH", one, { credentials: {}, expire_old: true });
    const { signing_secret: secret } = again.json.data.credentials;
    expect(secret).to.not.equal(credentials.signing_secret);
    expect((await send(secret)).status).to.equal(200);
    expectError(await send(credentials.signing_secret), "401 signature_mismatch");
    const renamed = await endpoints.manage("PATCH", one, { name: "Till" });
    expect(renamed.json.data).to.not.have.property("credentials");
  });

  it("should use its environment where the event has no flag of its own", async () => {
    const { webhook_path: where } = await create();
    const answer = await deliver(where, "whsec_old", undefined);
    expect(answer.status, answer.text).to.equal(200);
  });

  it("should let old credentials count after a rotation, unless it expires them", async () => {
    const { id, webhook_path: where } = await create();
    const one = `${path}/integrations/${id}`;
    const rotated = await endpoints.manage("PATCH", one, {
      credentials: { signing_secret: "whsec_new" },
    });
    const until = Date.parse(rotated.json.data.old_credentials_valid_until) - Date.now();
    expect(until).to.be.within(23 * 3_600_000, 24 * 3_600_000);
    expect((await deliver(where, "whsec_old")).status).to.equal(200);
    expect((await deliver(where, "whsec_new")).status).to.equal(200);
    await endpoints.manage("PATCH", one, { expire_old: true });
    expectError(await deliver(where, "whsec_old"), "401 signature_mismatch");
    expect((await deliver(where, "whsec_new")).status).to.equal(200);
  });

  it("should let old credentials count also when a rotation follows, or is repeated", async () => {
    const { id, webhook_path: where } = await create();
    const one = `${path}/integrations/${id}`;
    const rotate = (secret: string, more: Readonly<Record<string, unknown>> = {}) =>
      endpoints.manage("PATCH", one, { credentials: { signing_secret: secret }, ...more });
    const statuses = async (...secrets: string[]) => {
      const found: number[] = [];
      for (const secret of secrets) found.push((await deliver(where, secret)).status);
      return found;
    };
    const first = await rotate("whsec_new");
    const again = await rotate("whsec_new");
    const until = first.json.data.old_credentials_valid_until;
    expect(again.json.data.old_credentials_valid_until).to.equal(until);
    expect(await statuses("whsec_old", "whsec_new")).to.deep.equal([200, 200]);
    await rotate("whsec_newer");
    expect(await statuses("whsec_old", "whsec_new", "whsec_newer")).to.deep.equal([200, 200, 200]);

    for (let count = 2; count < limits.oldCredentialsMax; count += 1)
      await rotate(`whsec_${count}`);
    const refused = await rotate("whsec_last", { name: "Another" });
    expectError(refused, "422 credentials_rotated_often credentials");
    expect(await statuses("whsec_old", "whsec_last")).to.deep.equal([200, 401]);
    const ended = await rotate("whsec_last", { expire_old: true });
    expect(ended.json.data).to.include({ name: "Shop", old_credentials_valid_until: null });
    expect(await statuses("whsec_old", "whsec_newer", "whsec_last")).to.deep.equal([401, 401, 200]);
  });

  const patch = (id: string, credentials: object) =>
    endpoints.manage("PATCH", `${path}/integrations/${id}`, { credentials });
  /** The current ones, then the old ones that count. */
  const keptOf = async ({ webhook_path: where }: { webhook_path: string }) => {
    const integrations = openIntegrations(endpoints.service);
    return (await integrations.byToken(where.split("/").at(-1) ?? ""))?.credentials;
  };

  it("should change the credentials that are given, and leave the others", async () => {
    const made = await create();
    const [before, renewed, whole] = [
      { signing_secret: "whsec_old" },
      { signing_secret: "whsec_new" },
      { signing_secret: "whsec_new", api_key: "rk_1" },
    ];
    await patch(made.id, renewed);
    const added = await patch(made.id, { api_key: "rk_1" });
    expect(added.json.data.credentials_set).to.have.members(["signing_secret", "api_key"]);
    expect(added.text).to.not.match(/whsec_|rk_1/);
    expect(await keptOf(made)).to.deep.equal([whole, renewed, before]);
    expect((await deliver(made.webhook_path, "whsec_old")).status).to.equal(200);

    expect((await patch(made.id, {})).json.data).to.deep.equal(added.json.data);
    const removed = await patch(made.id, { api_key: null });
    expect(removed.json.data.credentials_set).to.deep.equal(["signing_secret"]);
    expect(await keptOf(made)).to.deep.equal([renewed, whole, before]);
    expect((await patch(made.id, { api_key: "" })).json.data).to.deep.equal(removed.json.data);
    for (const [given, error] of [
      [{ signing_secret: null }, "422 credential_invalid credentials.signing_secret"],
      [{ signing_secret: "" }, "422 credential_invalid credentials.signing_secret"],
      [{ apikey: null }, "422 credential_unknown credentials.apikey"],
    ] as const) {
      expectError(await patch(made.id, given), error);
    }
    expect(await keptOf(made)).to.deep.equal([renewed, whole, before]);
  });

  it("should lose none of the credentials that are entered at the same time", async () => {
    const first = { signing_secret: "chosen words" };
    const made = await endpoints.integrate("lemonsqueezy", first);
    const { postgres, vault } = endpoints.service;
    // Not over HTTP: the embedded engine would end one call before it begins the other.
    const enter = (more: object) => {
      const credentials = (current: unknown) => Object.assign({}, current, more);
      const change = { credentials, expireOld: false };
      return changeIntegration(postgres, vault, made.id, change, new Date());
    };
    const [key, store] = [{ api_key: "key" }, { store_id: "12" }];
    await Promise.all([enter(key), enter(store)]);
    expect((await keptOf(made))?.[0]).to.deep.equal({ ...first, ...key, ...store });
  });

  it("should make a secret only where it is asked to, and refuse half of a pair", async () => {
    const password = "at least 16 letters";
    const made = await endpoints.integrate("chargebee", { password });
    const half = await patch(made.id, { site: "acme-test" });
    expectError(half, "422 credential_invalid credentials.api_key");
    expect(half.json.error.message).to.include("site, api_key come together.");
    const both = await patch(made.id, { site: "acme-test", api_key: "test_1" });
    expect(both.json.data).to.not.have.property("credentials");
    const username = "chargebee";
    const current = { username, password, site: "acme-test", api_key: "test_1" };
    expect((await keptOf(made))?.[0]).to.deep.equal(current);
    expectError(await patch(made.id, { site: null }), "422 credential_invalid credentials.site");
    expectError(await patch(made.id, { password: "" }), "422 credential_invalid");

    const anew = await patch(made.id, { password: null });
    const { password: next } = anew.json.data.credentials;
    expect(next).to.be.a("string").and.not.equal(password);
    expect((await keptOf(made))?.slice(0, 2)).to.deep.equal([
      { ...current, password: next },
      current,
    ]);
    const bare = { username, password: next };
    await patch(made.id, { site: null, api_key: null });
    expect((await keptOf(made))?.[0]).to.deep.equal(bare);

    const app = await endpoints.integrate("apple", { bundle_id: "com.example.merged" });
    const key = await patch(app.id, { issuer_id: "issuer" });
    expectError(key, "422 credential_invalid credentials.key_id");
    expect(key.json.error.message).to.include("issuer_id, key_id, private_key come together.");
  });

  it("should be unknown once it is deleted", async () => {
    const { id, webhook_path: where } = await create();
    expect((await deliver(where, "whsec_old")).status).to.equal(200);
    expect((await endpoints.manage("DELETE", `${path}/integrations/${id}`)).status).to.equal(200);
    expectError(await deliver(where, "whsec_old"), "404 webhook_unknown");
    const again = await endpoints.manage("DELETE", `${path}/integrations/${id}`);
    expectError(again, "404 integration_unknown");
  });
});

describe("Managed products", () => {
  const skus = (...ids: string[]) => ids.map((id) => ({ provider: "custom", external_id: id }));
  let made = 0;
  /** A product with SKUs of its own, as booking would have made it. */
  async function newProduct(name: string, ...ids: string[]): Promise<string> {
    const { postgres } = endpoints.service;
    const id = `prod_unf_test_${process.pid}_${(made += 1)}`;
    await postgres.query(
      `INSERT INTO products (id, workspace, environment, name, slug)
       VALUES ($1, $2, 'live', $3, $1)`,
      [id, endpoints.workspace, name],
    );
    for (const sku of ids) {
      await postgres.query(
        `INSERT INTO skus (workspace, environment, provider, external_id, name, product)
         VALUES ($1, 'live', 'custom', $2, $3, $4)`,
        [endpoints.workspace, sku, `Name of ${sku}`, id],
      );
    }
    return id;
  }
  const listed = async (): Promise<{ id: string; name: string; skus: object[] }[]> =>
    (await endpoints.manage("GET", `${path}/products?limit=200`)).json.data;

  it("should rename and re-categorise, and keep the slug", async () => {
    const id = await newProduct("Old", "a1");
    const change = { name: "New", category: "Digital Asset" };
    const answer = await endpoints.manage("PATCH", `${path}/products/${id}`, change);
    expect(answer.json.data).to.deep.include({ ...change, id, slug: id, skus: skus("a1") });
    const back = await endpoints.manage("PATCH", `${path}/products/${id}`, { category: null });
    expect(back.json.data.category).to.equal(null);
  });

  it("should show a product nobody has named yet under the slug its figures have", async () => {
    const { workspace, readKey, service } = await openEndpoints();
    await service.postgres.query(
      `INSERT INTO products (id, workspace, environment, name)
       VALUES ($2, $1, 'live', 'SKU_1'), ($3, $1, 'live', '🚀')`,
      [workspace, `prod_unf_${workspace}_1`, `prod_unf_${workspace}_2`],
    );
    const slugsOf = ({ json }: Answer): string[] =>
      json.data.map((row: { name: string; slug: string }) => `${row.name} ${row.slug}`).toSorted();
    const managed = slugsOf(await endpoints.manage("GET", `/workspaces/${workspace}/products`));
    expect(managed).to.deep.equal(slugsOf(await endpoints.get("/v1/products", readKey)));
    expect(managed[0]).to.equal("SKU_1 sku-1");
  });

  it("should merge products, whose SKUs move", async () => {
    const [into, from] = [await newProduct("Into", "b1"), await newProduct("From", "b2", "b3")];
    const answer = await endpoints.manage("POST", `${path}/products/${into}/merge`, {
      from: [from],
    });
    expect(answer.json.data.skus).to.deep.equal(skus("b1", "b2", "b3"));
    expect((await listed()).map(({ id }) => id)).to.not.include(from);
  });

  it("should refuse to merge what is not there or is itself", async () => {
    const id = await newProduct("Stores", "c1");
    for (const from of [[id], ["prod_unf_none"]]) {
      const answer = await endpoints.manage("POST", `${path}/products/${id}/merge`, { from });
      expectError(answer, "422 product_not_mergeable from");
    }
  });

  it("should move SKUs here and split off those left out", async () => {
    const [one, other] = [await newProduct("One", "d1", "d2"), await newProduct("Other", "d3")];
    const change = { skus: skus("d2", "d3", "d4") };
    const answer = await endpoints.manage("PATCH", `${path}/products/${one}`, change);
    expect(answer.json.data.skus).to.deep.equal(change.skus);
    const products = await listed();
    expect(products.map(({ id }) => id)).to.not.include(other);
    const split = products.find(({ name }) => name === "Name of d1");
    expect(split?.skus).to.deep.equal(skus("d1"));
  });

  const product = async (id: string) => (await listed()).find((one) => one.id === id);
  const patch = (id: string, change: object) =>
    endpoints.manage("PATCH", `${path}/products/${id}`, change);
  const nameOf = async (sku: string) =>
    (await listed()).find((one) => JSON.stringify(one.skus) === JSON.stringify(skus(sku)))?.name;

  it("should call what remains by its own name when its namesake is split off", async () => {
    const [one, other] = [await newProduct("Name of h1", "h1"), await newProduct("Other", "h2")];
    await endpoints.manage("POST", `${path}/products/${one}/merge`, { from: [other] });
    await patch(one, { skus: skus("h2") });
    expect(await nameOf("h1")).to.equal("Name of h1");
    expect(await product(one)).to.deep.include({ name: "Name of h2", slug: "name-of-h2" });
  });

  it("should leave the name that a person gave", async () => {
    const one = await newProduct("X", "i1", "i2");
    await patch(one, { name: "Name of i1" });
    await patch(one, { skus: skus("i2") });
    expect(await product(one)).to.deep.include({ name: "Name of i1" });
    expect(await nameOf("i1")).to.equal("Name of i1 (i1)");
  });

  it("should tell SKUs apart that their providers call the same", async () => {
    const one = await newProduct("Pro", "j1", "j2");
    const { postgres } = endpoints.service;
    await postgres.query("UPDATE skus SET name = 'Pro' WHERE external_id IN ('j1', 'j2')");
    await patch(one, { skus: skus("j1") });
    expect([await nameOf("j1"), await nameOf("j2")]).to.deep.equal(["Pro", "Pro (j2)"]);
  });

  it("should undo a merge from the activity list, once", async () => {
    const [into, from] = [await newProduct("Into", "k1"), await newProduct("From", "k2", "k3")];
    await patch(from, { name: "Mine", category: "Desktop App" });
    const before = await product(from);
    const merge = { from: [from] };
    const answer = await endpoints.manage("POST", `${path}/products/${into}/merge`, merge);
    const { activity } = answer.json.data;
    const listedUndo = async () => {
      const { json } = await endpoints.manage("GET", `${path}/activity?limit=200`);
      return json.data.find(({ id }: { id: string }) => id === activity).undo;
    };
    expect(await listedUndo()).to.deep.equal({
      product: "Into",
      merged: [{ name: "Mine", skus: skus("k2", "k3") }],
    });
    // What was split off since stays where it is.
    await patch(into, { skus: skus("k1", "k3") });
    const undo = `${path}/activity/${activity}/undo`;
    const undone = await endpoints.manage("POST", undo);
    expect(undone.status, undone.text).to.equal(200);
    expect(undone.json.data).to.deep.include({ id: into, skus: skus("k1") });
    expect(await product(from)).to.deep.equal({ ...before, skus: skus("k3") });
    expect(await nameOf("k2")).to.equal("Name of k2");
    expect(await listedUndo()).to.equal(null);
    expectError(await endpoints.manage("POST", undo), "409 nothing_to_undo");
    const { json } = await endpoints.manage("GET", `${path}/activity`);
    expect(json.data[0]).to.include({ action: "product.merge_undone", object: activity });
  });

  it("should undo merges of merges from the last one on", async () => {
    const [a, b, c] = [
      await newProduct("A", "l1"),
      await newProduct("B", "l2"),
      await newProduct("C", "l3"),
    ];
    const merge = async (into: string, from: string) => {
      const { json } = await endpoints.manage("POST", `${path}/products/${into}/merge`, {
        from: [from],
      });
      return `${path}/activity/${json.data.activity}/undo`;
    };
    const first = await merge(a, b);
    const second = await merge(c, a);
    expectError(await endpoints.manage("POST", first), "409 nothing_to_undo");
    await endpoints.manage("POST", second);
    expect(await product(a)).to.deep.include({ name: "A", skus: skus("l1", "l2") });
    await endpoints.manage("POST", first);
    expect(await product(b)).to.deep.include({ name: "B", skus: skus("l2") });
    expect(await product(c)).to.deep.include({ name: "C", skus: skus("l3") });
  });

  it("should refuse a SKU of no provider there is, and still list the products", async () => {
    const id = await newProduct("Own", "g1");
    const given = [...skus("g1"), { provider: "acme", external_id: "g2" }];
    const answer = await endpoints.manage("PATCH", `${path}/products/${id}`, { skus: given });
    expectError(answer, "422 field_invalid skus.1.provider");
    expect(await endpoints.get("/v1/products")).to.include({ status: 200 });
  });

  it("should keep a product without SKUs when a person named it", async () => {
    const [one, named] = [await newProduct("One", "e1"), await newProduct("X", "e2")];
    await endpoints.manage("PATCH", `${path}/products/${named}`, { name: "Mine" });
    await endpoints.manage("PATCH", `${path}/products/${one}`, { skus: skus("e1", "e2") });
    expect((await listed()).find(({ id }) => id === named)).to.deep.include({ skus: [] });
  });

  it("should list one environment when asked", async () => {
    const id = await newProduct("Live only", "f1");
    const query = `${path}/products?limit=200&environment`;
    const test = await endpoints.manage("GET", `${query}=Test`);
    expect(test.text).to.not.include(id).and.not.include("Production");
    const live = await endpoints.manage("GET", `${query}=Production`);
    expect(live.text).to.include(id).and.not.include('"Test"');
  });
});

describe("Managed rejects", () => {
  /** A raw event nobody can book, on the log and in the list. */
  async function newReject(nativeId: string, reason: string, forged?: Buffer): Promise<string> {
    const { service, workspace } = endpoints;
    const meta = metaOf({
      event_id: eventId(workspace, "live", "stripe", nativeId),
      workspace,
      native_id: nativeId,
      native_type: "product.created",
      received_at: Date.now(),
    });
    const body = Buffer.from(JSON.stringify(newStripeEvent({ id: nativeId })));
    const sealed = sealRawEvent(service.vault, meta, body);
    const value = rawEventCodec.encode(forged === undefined ? sealed : { meta, sealed: forged });
    const [position] = await service.log.append(topics.raw, [{ key: workspace, value }]);
    if (position === undefined) throw new Error("nothing was appended");
    await insertRejects(service.clickhouse, [
      {
        workspace,
        environment: "live",
        event_id: meta.event_id,
        provider: "stripe",
        native_type: meta.native_type,
        received_at: clickhouseTime(meta.received_at),
        step: "decode",
        reason,
        detail: "It cannot be understood.",
        partition: position.partition,
        offset: position.offset.toString(),
        state: "open",
        revision: meta.received_at,
      },
    ]);
    return meta.event_id;
  }
  const idsOf = (answer: Answer): string[] => answer.json.data.map((row: { id: string }) => row.id);
  let reason: string;
  let ids: string[];
  let runs = 0;
  beforeEach(async () => {
    reason = `reason_${process.pid}_${(runs += 1)}`;
    ids = [];
    for (const name of ["a", "b", "c"])
      ids.unshift(await newReject(`evt_${reason}_${name}`, reason));
  });

  it("should list what is open, newest first, by pages", async () => {
    const first = await endpoints.manage("GET", `${path}/rejects?reason=${reason}&limit=2`);
    expect(first.json.data[0]).to.deep.include({ step: "decode", reason, state: "open" });
    const { next_cursor: cursor } = first.json.pagination;
    const second = await endpoints.manage("GET", `${path}/rejects?cursor=${cursor}`);
    expect([...idsOf(first), ...idsOf(second)].sort()).to.deep.equal([...ids].sort());
    const mixed = await endpoints.manage("GET", `${path}/rejects?cursor=${cursor}&reason=x`);
    expectError(mixed, "400 cursor_invalid cursor");
  });

  it("should put them back on the log, stamped now, with the same event ids", async () => {
    const before = await endpoints.service.log.ends(topics.raw);
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, { reason });
    expect(answer.json.data).to.deep.equal({ replayed: 3, missing: 0, more: false });
    const replayed: string[] = [];
    for (const [partition, end] of before.entries()) {
      const records = await endpoints.service.log.read(topics.raw, partition, end, 100);
      replayed.push(...records.map(({ value }) => rawEventCodec.decode(value).meta.event_id));
    }
    expect(replayed.sort()).to.deep.equal([...ids].sort());
    const open = await endpoints.manage("GET", `${path}/rejects?reason=${reason}`);
    expect(open.json.data).to.deep.equal([]);
    const done = await endpoints.manage("GET", `${path}/rejects?reason=${reason}&state=replayed`);
    expect(idsOf(done)).to.have.length(3);
    const again = await endpoints.manage("POST", `${path}/rejects/replay`, { reason });
    expect(again.json.data.replayed).to.equal(0);
  });

  it("should replay only those named", async () => {
    const some = { ids: ids.slice(0, 1) };
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, some);
    expect(answer.json.data.replayed).to.equal(1);
    const open = await endpoints.manage("GET", `${path}/rejects?reason=${reason}`);
    expect(idsOf(open).sort()).to.deep.equal(ids.slice(1).sort());
  });

  it("should name ids that are no rejects here, and put none back", async () => {
    const other = await openEndpoints();
    const unknown = ["evt_norm_nobody", ...Array.from({ length: 10 }, (_, at) => `evt_${at}`)];
    const asked = { ids: [...ids, ...unknown] };
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, asked);
    expectError(answer, "422 reject_unknown ids");
    expect(answer.json.error.message).to.match(/: evt_norm_nobody, evt_0, .* and 1 more\.$/);
    const others = await other.manage("POST", `${other.path}/rejects/replay`, { ids });
    expectError(others, "422 reject_unknown ids");
    const open = await endpoints.manage("GET", `${path}/rejects?reason=${reason}`);
    expect(idsOf(open).sort()).to.deep.equal([...ids].sort());
  });

  it("should put back nothing where all that is named was put back before", async () => {
    for (const replayed of [3, 0]) {
      const answer = await endpoints.manage("POST", `${path}/rejects/replay`, { ids });
      expect(answer.json.data).to.deep.equal({ replayed, missing: 0, more: false });
    }
  });

  it("should put back what came by a clock ahead of this one, and list it so", async () => {
    const { service, workspace } = endpoints;
    const open = { workspace, state: "open", reason } as const;
    const listed = await listRejects(service.clickhouse, open, null, ids.length);
    const aheadAt = Date.now() + 3_600_000;
    const ahead = { received_at: clickhouseTime(aheadAt), revision: aheadAt };
    await insertRejects(
      service.clickhouse,
      listed.map((row) => ({ ...row, ...ahead })),
    );
    const replayed = await replayAll(service, { workspace, reason });
    expect(replayed).to.deep.equal({ replayed: 3, missing: 0 });
    expect(await listRejects(service.clickhouse, open, null, ids.length)).to.deep.equal([]);
  });

  it("should say what retention has removed", async () => {
    const { service, workspace } = endpoints;
    const id = await newReject(`evt_${reason}_gone`, reason);
    await service.clickhouse.write(
      `INSERT INTO rejects SELECT * REPLACE (offset + 1000000 AS offset, revision + 1 AS revision)
       FROM rejects FINAL WHERE workspace = {workspace:String} AND event_id = {id:String}`,
      { workspace, id },
    );
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, { ids: [id] });
    expect(answer.json.data).to.deep.equal({ replayed: 0, missing: 1, more: false });
  });

  it("should replay the others beside one whose seal is broken", async () => {
    const forged = await newReject(`evt_${reason}_forged`, reason, randomBytes(100));
    const asked = { ids: [forged, ...ids] };
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, asked);
    expect(answer.json.data).to.deep.equal({ replayed: 3, missing: 1, more: false });
  });

  it("should come to what can be replayed behind any number that cannot", async () => {
    const { service, workspace } = endpoints;
    const open = { workspace, state: "open", reason } as const;
    const [row] = await listRejects(service.clickhouse, open, null, 1);
    if (row === undefined) throw new Error("no reject is listed");
    // Newer than the others, and of records retention has removed.
    const gone = { received_at: clickhouseTime(Date.now() + 1), offset: "1000000", revision: 1 };
    const rows = Array.from({ length: limits.replayRecordsMax + 1 }, (_, number) => ({
      ...row,
      ...gone,
      event_id: `${row.event_id}${number}`,
    }));
    await insertRejects(service.clickhouse, rows);
    const answer = await endpoints.manage("POST", `${path}/rejects/replay`, { reason });
    const missing = rows.length;
    expect(answer.json.data).to.deep.equal({ replayed: 3, missing, more: false });
    expect(await replayAll(service, { workspace, reason })).to.deep.equal({ replayed: 0, missing });
  });
});

describe("A backup by the management interface", () => {
  it("should be refused without an absolute path", async () => {
    const answer = await endpoints.manage("POST", "/backups", { to: "backups" });
    expectError(answer, "422 path_relative to");
  });

  it("should be made beside all else, one at a time, and be reported", async () => {
    const none = await endpoints.manage("GET", "/backups/last");
    expectError(none, "404 backup_unknown");
    const to = mkdtempSync(join(tmpdir(), "revenue-backups-"));
    const ask = () => endpoints.manage("POST", "/backups", { to });
    const answers = await Promise.all([ask(), ask()]);
    expect(answers.map(({ status }) => status)).to.have.members([202, 409]);
    const reported = await lastBackup();
    expect(reported).to.include({ state: "done", problem: null });
    await checkBackup(reported.path);
    rmSync(to, { recursive: true });
  });

  it("should fail where no folder can be made, and leave the way free for the next", async () => {
    const asked = await endpoints.manage("POST", "/backups", { to: "/proc/revenue/backups" });
    expect(asked.status).to.equal(202);
    const reported = await lastBackup();
    expect(reported).to.include({ state: "failed", path: null });
    expect(reported.problem).to.include("/proc/revenue");
  });

  it("should be refused amid a rotation of the vault key: one key would not open it", async () => {
    const { postgres } = endpoints.service;
    const sealed = openVault(randomBytes(32).toString("hex")).seal(Buffer.of(1), Buffer.of(2));
    const values = ["of_another_key", sealed];
    await postgres.query("INSERT INTO sealed_secrets (name, sealed) VALUES ($1, $2)", values);
    const to = mkdtempSync(join(tmpdir(), "revenue-backups-"));
    expect(await endpoints.manage("POST", "/backups", { to })).to.include({ status: 202 });
    const reported = await lastBackup();
    await postgres.query("DELETE FROM sealed_secrets WHERE name = $1", ["of_another_key"]);
    expect(reported).to.include({ state: "failed", path: null });
    expect(reported.problem).to.include("rotate-key");
    expect(readdirSync(to)).to.deep.equal([]);
    rmSync(to, { recursive: true });
  });

  async function lastBackup() {
    for (;;) {
      const { data } = (await endpoints.manage("GET", "/backups/last")).json;
      if (data.state !== "running") return data;
      await pause(50);
    }
  }
});
