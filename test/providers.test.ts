import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { parseBody } from "../backends/http/strict-body.js";
import { projectFile } from "../backends/root.js";
import { readConfig } from "../config.js";
import { makeTestChain } from "../providers/apple/test-chain.js";
import { createProviders } from "../providers/index.js";
import type { Known, ProviderToken } from "../providers/provider.js";
import { credentialsOf, makeSigner } from "./google-signer.js";

const now = Date.UTC(2026, 10, 20);
const providers = createProviders(readConfig({}));

interface Case {
  /** Of an integration, as a person enters them. */
  readonly current: unknown;
  readonly other: unknown;
  /** Who signs for `current` and `other`, where that takes more than the credentials. */
  readonly signers?: readonly [current: unknown, other: unknown];
  /** How old a delivery may be; null where the provider's signatures do not age. */
  readonly toleranceSeconds: number | null;
  /** False where the provider does not sign its bodies. */
  readonly signsBody: boolean;
}

/** Two App Stores of nobody's trust but ours. */
const [appStore, otherAppStore] = [makeTestChain(), makeTestChain()];

/** Two push subscriptions of Pub/Sub, each with a key that stands in for Google's. */
const [push, otherPush] = [makeSigner("one"), makeSigner("two", "https://other.example/push")];

/** A new provider adds its line. */
const cases: Partial<Record<ProviderToken, Case>> = {
  stripe: {
    current: { signing_secret: "whsec_dGhlIHByb3ZpZGVycyB0ZXN0" },
    other: { signing_secret: "whsec_YW5vdGhlciBlbmRwb2ludA" },
    toleranceSeconds: 300,
    signsBody: true,
  },
  paddle: {
    current: { signing_secret: "pdl_ntfset_01jdone_dGhlIHByb3ZpZGVycyB0ZXN0" },
    other: { signing_secret: "pdl_ntfset_01jdtwo_YW5vdGhlciBkZXN0aW5hdGlvbg" },
    toleranceSeconds: 60,
    signsBody: true,
  },
  lemonsqueezy: {
    current: { signing_secret: "the providers test" },
    other: { signing_secret: "another webhook" },
    toleranceSeconds: null,
    signsBody: true,
  },
  revenuecat: {
    current: { authorization: "Bearer of one", signing_secret: "rc_secret_of_one" },
    other: { authorization: "Bearer of another", signing_secret: "rc_secret_of_another" },
    toleranceSeconds: 300,
    signsBody: true,
  },
  gumroad: {
    current: { seller_id: "c2VsbGVyLW9uZQ==", access_token: "token_of_one" },
    other: { seller_id: "c2VsbGVyLXR3bw==" },
    toleranceSeconds: null,
    signsBody: false,
  },
  custom: {
    current: { signing_secret: "whsec_b25lIHNlbmRlciBvZiB0aGUgcHJvdmlkZXIgdGVzdA==" },
    other: { signing_secret: "whsec_YW5vdGhlciBzZW5kZXIgb2YgdGhlIHRlc3QsIHRvbw==" },
    toleranceSeconds: 300,
    signsBody: true,
  },
  apple: {
    current: { bundle_id: "com.example.atlas", root_certificates: appStore.x5c.slice(2) },
    other: { bundle_id: "com.example.atlas", root_certificates: otherAppStore.x5c.slice(2) },
    signers: [appStore, otherAppStore],
    toleranceSeconds: null,
    signsBody: true,
  },
  google: {
    current: credentialsOf(push),
    other: credentialsOf(otherPush),
    signers: [push, otherPush],
    // A token is good for an hour, and clocks may differ by five minutes.
    toleranceSeconds: 3600 + 300,
    signsBody: false,
  },
};

/**
 * Every provider folder carries `fixtures/<name>.json`, a body as the provider sends it, and
 * `<name>.facts.json`, what must be read from it (bigints as strings).
 */
for (const [token, provider] of providers) {
  describe(`Provider ${token}`, () => {
    const given = cases[token];
    if (given === undefined) throw new Error(`No case to test ${token} with`);
    const current = provider.credentials.parse(given.current);
    const other = provider.credentials.parse(given.other);
    const [signer, otherSigner] = given.signers ?? [current, other];
    const fixtures = fixturesOf(token);

    it("should have fixtures", () => {
      expect(fixtures.length).to.be.greaterThan(10);
    });

    for (const { name, body, known, expected } of fixtures) {
      it(`should take ${name} when signed and read what it tells`, async () => {
        const delivery = provider.sign(body, signer, now);
        expect(await provider.verify(delivery, [current], now)).to.include({ ok: true });
        const read = parseBody(provider, delivery.body);
        if (!read.ok) throw new Error(read.message);
        const heading = provider.heading(read.value, delivery.headers);
        if (heading === null) throw new Error("no event of this provider");
        const { nativeId } = heading;
        const told = { ...known, nativeId, receivedAt: now, firstReceivedAt: now };
        const decoded: unknown = JSON.parse(withoutBigints(provider.decode(read.value, told)));
        expect(decoded).to.containSubset(expected);
        if (expected.outcome === "facts") expect(decoded).to.deep.equal(expected);
      });
    }

    if (given.signsBody) {
      it("should refuse every fixture with one byte flipped", async () => {
        for (const { name, body } of fixtures) {
          const { headers, body: whole } = provider.sign(body, signer, now);
          const flipped = Buffer.from(whole);
          const place = Math.floor(whole.length / 2);
          flipped[place] = (flipped[place] ?? 0) ^ 1;
          const verdict = await provider.verify({ headers, body: flipped }, [current], now);
          expect(verdict.ok, name).to.equal(false);
        }
      });
    }

    it("should refuse a delivery signed for another endpoint, or with no signature", async () => {
      const [fixture] = fixtures;
      const body = fixture?.body ?? Buffer.of();
      const foreign = await provider.verify(provider.sign(body, otherSigner, now), [current], now);
      expect(foreign.ok).to.equal(false);
      expect((await provider.verify({ headers: {}, body }, [current], now)).ok).to.equal(false);
    });

    it("should refuse a stale delivery, and take one signed for any of a rotation", async () => {
      const [fixture] = fixtures;
      const delivery = provider.sign(fixture?.body ?? Buffer.of(), otherSigner, now);
      expect((await provider.verify(delivery, [current, other], now)).ok).to.equal(true);
      if (given.toleranceSeconds === null) return;
      const late = now + (given.toleranceSeconds + 1) * 1000;
      expect(await provider.verify(delivery, [current, other], late)).to.deep.equal({
        ok: false,
        reason: "signature_stale",
      });
    });

    it("should read nothing from bodies that are no events, and not throw", () => {
      for (const body of [null, 1, "event", [], {}, { object: "event" }, { type: "x", data: {} }]) {
        expect(provider.heading(body), JSON.stringify(body)).to.equal(null);
        expect(provider.decode(body).outcome, JSON.stringify(body)).to.equal("rejected");
      }
    });

    it("should refuse credentials with fields missing or unknown", () => {
      expect(provider.credentials.safeParse({}).success).to.equal(false);
      const misspelt = { ...Object(given.current), api_kye: "x" };
      expect(provider.credentials.safeParse(misspelt).success).to.equal(false);
    });
  });
}

interface Fixture {
  readonly name: string;
  /** As the provider sends it, before it is signed. */
  readonly body: Buffer;
  readonly known: Known;
  readonly expected: { readonly outcome: string };
}

/**
 * Beside `<name>.json` (or `.form`) may lie `<name>.answers.json`, the API's answers by path, and
 * `<name>.kept.json`, kept objects by id.
 */
function fixturesOf(token: ProviderToken): Fixture[] {
  const folder = projectFile("providers", token, "fixtures");
  return readdirSync(folder)
    .filter((file) => /(?<!\.facts|\.answers|\.kept)\.(json|form)$/.test(file))
    .map((file) => {
      const name = file.slice(0, file.lastIndexOf("."));
      const answers = `${folder}/${name}.answers.json`;
      const kept = `${folder}/${name}.kept.json`;
      return {
        name,
        body: readFileSync(`${folder}/${file}`),
        known: {
          kept: new Map(existsSync(kept) ? Object.entries(readJson(kept)) : []),
          answers: new Map(existsSync(answers) ? Object.entries(readJson(answers)) : []),
        },
        expected: readJson(`${folder}/${name}.facts.json`),
      };
    });
}

function readJson(file: string): { outcome: string } {
  return JSON.parse(readFileSync(file, "utf8"));
}

function withoutBigints(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? part.toString() : part,
  );
}
