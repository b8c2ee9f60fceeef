/** What a payload says of a person is nowhere in clear: no file of the data folder or a backup. */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { writeBackup } from "../../stores/backup/write.js";
import type { Provider, ProviderToken } from "../../providers/provider.js";
import { topics } from "../../schemas/records/records.js";
import { onServers } from "../harness/backends.js";
import { readAll } from "../log/log-contract.js";
import { suiteEndpoints, openEndpoints } from "../harness/endpoints.js";
import { pathsIn, replaced } from "../harness/json-paths.js";
import { cases, type Fixture, fixturesOf, providers } from "../harness/provider-cases.js";
import { must } from "../model/readers/json.js";

/** Fields that name or describe who buys, in any provider's words. */
const personal = new RegExp(
  [
    "^(customer|customer_?id|user_?name|full_name|purchaser_id|aliases)$",
    "^(address|line1|phone|recipient|first_name|last_name|company)$",
    // RevenueCat's attributes of a customer.
    "^value$",
    "email|app_user_id|customer_name|appAccountToken|external_customer|ObfuscatedExternal",
  ].join("|"),
  "i",
);
/** As no engine, library or example writes by itself, nor ids that are drawn at random. */
const marker = "Zq7wPersonalZq7w";

describe("What is personal", function suite() {
  this.timeout(300_000);
  const endpoints = suiteEndpoints();
  let folder: string;
  const sent = new Map<string, string>();
  const workspaces = new Map<string, string>();

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "revenue-personal-"));
    for (const [token, provider] of providers) await deliverAll(token, provider);
    workspaces.set("ingest", endpoints.workspace);
    await ingestAll();
    await endpoints.booked();
    await writeBackup(endpoints.service, { to: folder, keep: 1, vaultKey: null });
  });
  after(() => rmSync(folder, { recursive: true }));

  it("should have been sent through every endpoint and booked", async () => {
    const rows = await endpoints.service.clickhouse.rows<{ workspace: string }>(
      "SELECT DISTINCT workspace FROM ledger",
    );
    const booked = new Set(rows.map(({ workspace }) => workspace));
    const silent = [...workspaces].filter(([, workspace]) => !booked.has(workspace));
    // Their own APIs are asked before anything is booked; here nobody answers.
    expect(silent.map(([token]) => token)).to.have.members(["google", "gumroad"]);
    expect(sent.size).to.equal(29);
  });

  it("should have been kept of whom the events name", async () => {
    const { postgres } = endpoints.service;
    const rows = await postgres.query<{ workspace: string }>(
      `SELECT DISTINCT workspace FROM customers
       WHERE workspace = ANY($1::text[]) AND id_hash IS NOT NULL AND email_hash IS NOT NULL`,
      [[...workspaces.values()]],
    );
    const named = new Set(rows.map(({ workspace }) => workspace));
    const silent = [...workspaces].filter(([, workspace]) => !named.has(workspace));
    // The app stores name nobody; in the examples of these nobody has an e-mail, or no account.
    expect(silent.map(([token]) => token)).to.have.members(["apple", "google"]);
  });

  it("should be in no file of a backup", () => {
    expect(foundIn(folder)).to.deep.equal([]);
  });

  if (!onServers) {
    it("should be in no file of the data folder", () => {
      expect(foundIn(endpoints.service.config.DATA_DIR)).to.deep.equal([]);
    });
  }

  it("should be in no record of the log and in no row", async () => {
    const { clickhouse, log } = endpoints.service;
    const found = new Set<string>();
    for (const topic of Object.values(topics)) {
      const texts = (await readAll(log, topic)).map(
        ({ key, value }) => `${key} ${value.toString("latin1")}`,
      );
      if (texts.some((text) => text.includes(marker))) found.add(topic);
    }
    for (const table of ["money_facts", "subscription_changes", "raw_events", "transactions"]) {
      const rows = await clickhouse.rows(
        `SELECT 1 FROM ${table} WHERE position(toString(tuple(*)), '${marker}') > 0 LIMIT 1`,
      );
      if (rows.length > 0) found.add(table);
    }
    expect([...found]).to.deep.equal([]);
  });

  async function deliverAll(token: ProviderToken, provider: Provider): Promise<void> {
    const { current, signers } = must(cases[token], "credentials");
    const signer = signers?.[0] ?? provider.credentials.parse(current);
    const shop = await openEndpoints();
    workspaces.set(token, shop.workspace);
    // Stripe's examples are of test mode, which an integration of its own takes.
    const environment = token === "stripe" ? "Test" : "Production";
    const { webhook_path: path } = await shop.integrate(token, Object(current), environment);
    const deliver = async ({ body }: Fixture): Promise<void> => {
      const signed = provider.sign(marked(body, token), signer, Date.now());
      const { status, text } = await shop.post(path, signed);
      expect(status, text).to.be.oneOf([200, 422]);
    };
    await Promise.all(fixturesOf(token).map(deliver));
  }

  async function ingestAll(): Promise<void> {
    const person = {
      customer_id: `ada.${marker}.1@example.com`,
      customer_name: `Ada ${marker}`,
      customer_email: `ada.${marker}.2@example.com`,
    };
    for (const [field, text] of Object.entries(person)) sent.set(`ingest ${field}`, text);
    const money = { provider: "custom", amount: 5, currency: "EUR", ...person };
    const monthly = { interval: "month", subscription_id: "sub_1", product_id: "pro" };
    for (const event of [
      { event_type: "transaction.sale", ...money },
      { event_type: "subscription.new", ...money, ...monthly },
    ]) {
      const { status, text } = await endpoints.ingest(event, {
        "idempotency-key": event.event_type,
      });
      expect(status, text).to.equal(202);
    }
  }

  /** The example with a person of its own in every field that reports one. */
  function marked(body: Buffer, token: ProviderToken): Buffer {
    const text = body.toString();
    if (!text.trimStart().startsWith("{")) {
      const form = new URLSearchParams(text);
      for (const field of new Set(form.keys())) {
        if (personal.test(field)) form.set(field, personIn(field, token));
      }
      return Buffer.from(form.toString());
    }
    let value: unknown = JSON.parse(text);
    for (const path of pathsIn(value)) {
      const field = path.findLast((key) => typeof key === "string");
      if (typeof field !== "string" || !personal.test(field)) continue;
      value = replaced(value, path, (old) =>
        typeof old === "string" ? personIn(field, token) : old,
      );
    }
    return Buffer.from(JSON.stringify(value));
  }

  function personIn(field: string, token: ProviderToken): string {
    const person = `ada.${marker}.${token}.${field.replaceAll(/\W/g, "")}@example.com`;
    sent.set(`${token} ${field}`, person);
    return person;
  }
});

/** Files in which the marker is, packed or not. */
function foundIn(folder: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // A merge removes parts meanwhile; what they held is in another one.
    try {
      const bytes = readFileSync(path);
      const text = path.endsWith(".gz") ? gunzipSync(bytes) : bytes;
      if (text.includes(marker)) found.push(path.slice(folder.length));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
  return found;
}
