import { expect } from "chai";
import { parseBody } from "../../schemas/parse.js";
import { cases, fixturesOf, providers } from "../harness/provider-cases.js";

const now = Date.UTC(2026, 10, 20);

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
      it(`should take ${name} when signed and read what it reports`, async () => {
        const delivery = provider.sign(body, signer, now);
        expect(await provider.verify(delivery, [current], now)).to.include({ ok: true });
        const read = parseBody(provider, delivery.body);
        if (!read.ok) throw new Error(read.message);
        const heading = provider.heading(read.value, delivery.headers);
        if (heading === null) throw new Error("no event of this provider");
        const { nativeId } = heading;
        const reported = { ...known, nativeId, receivedAt: now, firstReceivedAt: now };
        const decoded: unknown = JSON.parse(withoutBigints(provider.decode(read.value, reported)));
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

function withoutBigints(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? part.toString() : part,
  );
}
