/** What an event brings, however odd: facts that can be stored or a reject, never an exception. */
import { expect } from "chai";
import { limits } from "../../config.js";
import { parseBody } from "../../schemas/parse.js";
import { completeFacts } from "../../processors/normalize/facts.js";
import { signNotification } from "../../providers/apple/jws.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import type { Known, Provider } from "../../providers/provider.js";
import { factCodec, type RawEventMeta } from "../../schemas/records/records.js";
import { isStorable } from "../../schemas/bounds.js";
import { metaOf } from "../harness/facts.js";
import { quoteOf } from "../harness/fact-bodies.js";
import { pathsIn, replaced } from "../harness/json-paths.js";
import { fixturesOf, providers } from "../harness/provider-cases.js";

const receivedAt = Date.UTC(2026, 10, 20);
const signer = makeTestChain();

const long = "x".repeat(66_000);
/** Instead of any field, whatever it holds. */
const oddValues: readonly unknown[] = [
  long,
  "a\u0000b",
  "\ud800",
  "",
  "constructor",
  -1,
  0.5,
  1e300,
  Number.MAX_SAFE_INTEGER,
  253_402_300_799,
  null,
  true,
  {},
  [],
  [long],
];
/** Numbers a form or a text of JSON may hold. */
const oddTexts: readonly string[] = ["-1", "1e9", "9".repeat(40), "0.1.2", "9999-12-31T23:59:59Z"];

function oddOnes(old: unknown): readonly unknown[] {
  if (Array.isArray(old)) {
    const many = old.length === 0 ? [] : [Array.from({ length: 1_500 }, () => old[0])];
    return [...oddValues, ...many];
  }
  return typeof old === "string" ? [...oddValues, ...oddTexts] : oddValues;
}

/** Bodies that are read alike; all of Apple's have one transaction inside. */
function kindOf({ token }: Provider, file: string): string {
  return token === "apple" ? "" : (file.split(".")[0] ?? "");
}

/** As the endpoint and the processor read it. */
function readLikeTheService(
  provider: Provider,
  sent: unknown,
  kept: Known["kept"],
  answers: Known["answers"],
): void {
  const body: unknown =
    provider.token === "apple"
      ? JSON.parse(signNotification(Buffer.from(JSON.stringify(sent)), signer).toString())
      : sent;
  const heading = provider.heading(body, { "webhook-id": "msg" }, receivedAt);
  if (heading === null) return;
  expect(isStorable(heading.nativeId, 500), "native id").to.equal(true);
  const known = {
    kept,
    answers,
    nativeId: heading.nativeId,
    receivedAt,
    firstReceivedAt: receivedAt,
  };
  provider.keeps?.(body);
  provider.keepsAnswered?.(body, known);
  provider.needs?.(body);
  provider.asks?.(body, { ...known, answers: new Map() });
  provider.asks?.(body, known);
  const decoded = provider.decode(body, known);
  if (decoded.outcome !== "facts") return;
  const completed = completeFacts(decoded.facts, {
    meta: metaOf({ received_at: receivedAt }) satisfies RawEventMeta,
    position: { partition: 0, offset: 0n },
    baseCurrency: "USD",
    amountMinorMax: limits.amountMinorMax,
    earliest: limits.eventEarliest,
    latest: receivedAt + limits.eventAheadMsMax,
    hashAccount: (account) => account,
    quote: (currency) => quoteOf({ currency, base_currency: "USD" }),
  });
  if (completed.outcome === "facts") completed.facts.forEach((fact) => factCodec.encode(fact));
}

function bodiesOf(provider: Provider) {
  return fixturesOf(provider.token).map(({ name, body, known }) => {
    const parsed = parseBody(provider, body);
    if (!parsed.ok) throw new Error(parsed.message);
    return { name, body: parsed.value, ...known };
  });
}

/** Each field of each place once: bodies of one kind, and the items of one list, are read alike. */
function withOddFields(
  given: readonly { readonly kind: string; readonly value: unknown; readonly depthMin: number }[],
  check: (index: number, odd: unknown) => void,
): void {
  const tried = new Set<string>();
  for (const [index, { kind, value, depthMin }] of given.entries()) {
    for (const path of pathsIn(value)) {
      const names = path.slice(depthMin - 1).filter((key) => typeof key === "string");
      const place = `${kind} ${names.join(".")}`;
      if (path.length < depthMin || tried.has(place)) continue;
      tried.add(place);
      let values: readonly unknown[] = [];
      replaced(value, path, (old) => (values = oddOnes(old)));
      for (const odd of values) {
        try {
          check(
            index,
            replaced(value, path, () => odd),
          );
        } catch (error) {
          const shown = JSON.stringify(odd)?.slice(0, 60);
          throw new Error(`${index}: ${path.join(".")} = ${shown}`, { cause: error });
        }
      }
    }
  }
}

describe("An adapter and one odd field", () => {
  for (const provider of providers.values()) {
    it(`should make facts or a reject of a body of ${provider.token}`, function () {
      this.timeout(120_000);
      const bodies = bodiesOf(provider);
      withOddFields(
        bodies.map(({ name, body }) => ({
          kind: kindOf(provider, name),
          value: body,
          depthMin: 1,
        })),
        (index, odd) => {
          const { kept = new Map(), answers = new Map() } = bodies[index] ?? {};
          readLikeTheService(provider, odd, kept, answers);
        },
      );
    });

    if (provider.asks === undefined) continue;
    it(`should make facts or a reject with an answer of ${provider.token}'s API`, function () {
      this.timeout(120_000);
      const bodies = bodiesOf(provider);
      withOddFields(
        bodies.map(({ name, answers }) => ({
          kind: kindOf(provider, name),
          value: Object.fromEntries(answers),
          depthMin: 2,
        })),
        (index, odd) => {
          const { body, kept = new Map() } = bodies[index] ?? {};
          readLikeTheService(provider, body, kept, new Map(Object.entries(Object(odd))));
        },
      );
    });
  }
});
