import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { projectFile } from "../backends/root.js";
import { createProviders } from "../providers/index.js";
import type { Delivery, Provider, ProviderToken } from "../providers/provider.js";

const now = Date.UTC(2026, 10, 20);
const toleranceSeconds = 300;
const providers = createProviders({ STRIPE_TOLERANCE_SECONDS: toleranceSeconds });

/** Of an integration, as a person enters them; a new provider adds its line. */
const credentials: Partial<Record<ProviderToken, { current: unknown; other: unknown }>> = {
  stripe: {
    current: { signing_secret: "whsec_dGhlIHByb3ZpZGVycyB0ZXN0" },
    other: { signing_secret: "whsec_YW5vdGhlciBlbmRwb2ludA" },
  },
};

/**
 * Every provider folder carries `fixtures/<name>.json`, a body as the provider sends it, and
 * `<name>.facts.json`, what must be read from it (bigints as strings).
 */
for (const [token, provider] of providers) {
  describe(`Provider ${token}`, () => {
    const given = credentials[token];
    if (given === undefined) throw new Error(`No credentials to test ${token} with`);
    const current = provider.credentials.parse(given.current);
    const other = provider.credentials.parse(given.other);
    const bodies = fixturesOf(token);

    it("should have fixtures", () => {
      expect(bodies.length).to.be.greaterThan(10);
    });

    for (const { name, body, expected } of bodies) {
      it(`should take ${name} when signed and read what it tells`, () => {
        const delivery = signed(provider, body, current);
        expect(provider.verify(delivery, [current], now)).to.include({ ok: true });
        expect(provider.heading(parse(body))?.nativeId).to.be.a("string");
        const decoded: unknown = JSON.parse(withoutBigints(provider.decode(parse(body))));
        expect(decoded).to.containSubset(expected);
        if (expected.outcome === "facts") expect(decoded).to.deep.equal(expected);
      });
    }

    it("should refuse every fixture with one byte flipped", () => {
      for (const { name, body } of bodies) {
        const { headers } = signed(provider, body, current);
        const flipped = Buffer.from(body);
        const place = Math.floor(body.length / 2);
        flipped[place] = (flipped[place] ?? 0) ^ 1;
        const verdict = provider.verify({ headers, body: flipped }, [current], now);
        expect(verdict, name).to.deep.equal({ ok: false, reason: "signature_mismatch" });
      }
    });

    it("should refuse a delivery signed for another endpoint, or with no signature", () => {
      const [fixture] = bodies;
      const body = fixture?.body ?? Buffer.of();
      expect(provider.verify(signed(provider, body, other), [current], now).ok).to.equal(false);
      expect(provider.verify({ headers: {}, body }, [current], now)).to.deep.equal({
        ok: false,
        reason: "signature_missing",
      });
    });

    it("should refuse a stale delivery, and take one signed by any secret of a rotation", () => {
      const [fixture] = bodies;
      const delivery = signed(provider, fixture?.body ?? Buffer.of(), other);
      expect(provider.verify(delivery, [current, other], now).ok).to.equal(true);
      const late = now + (toleranceSeconds + 1) * 1000;
      expect(provider.verify(delivery, [current, other], late)).to.deep.equal({
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
  readonly body: Buffer;
  readonly expected: { readonly outcome: string };
}

function fixturesOf(token: ProviderToken): Fixture[] {
  const folder = projectFile("providers", token, "fixtures");
  return readdirSync(folder)
    .filter((file) => file.endsWith(".json") && !file.endsWith(".facts.json"))
    .map((file) => {
      const name = file.slice(0, -".json".length);
      const facts = readFileSync(`${folder}/${name}.facts.json`, "utf8");
      return { name, body: readFileSync(`${folder}/${file}`), expected: JSON.parse(facts) };
    });
}

function signed(provider: Provider, body: Buffer, secret: unknown): Delivery {
  return { headers: provider.sign(body, secret, now), body };
}

function parse(body: Buffer): unknown {
  return JSON.parse(body.toString());
}

function withoutBigints(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? part.toString() : part,
  );
}
