/**
 * providers/readings.md: for each provider and event type what is read from it, made by reading the
 * examples in providers/<token>/fixtures. test/providers/conformance.test.ts says whether it is
 * current.
 */
import { parseBody } from "../../schemas/parse.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import { signNotification } from "../../providers/apple/jws.js";
import type { Provider } from "../../providers/provider.js";
import { type Fixture, fixturesOf } from "../harness/provider-cases.js";
import { effectOf, type ReadFixture } from "./words.js";

export function conformancePage(providers: ReadonlyMap<string, Provider>): string {
  const sections = [...providers.values()].map(sectionOf);
  return `${[head, ...sections].join("\n\n")}\n`;
}

const head = `# What each event does

Made from the examples in \`providers/<token>/fixtures\` by the adapters themselves
(\`UPDATE_CONFORMANCE=1 npm test\`); a test says whether it is current. One row for each event type
and effect, with the examples that have it; "is set" means: from then on it is worth what the event
says. An event type with no example is shown as such; what is in no table is ignored. The pages in
docs/providers say why.`;

function sectionOf(provider: Provider): string {
  const fixtures = fixturesOf(provider.token).map((fixture) => readAsServed(provider, fixture));
  const seen = [...new Set(fixtures.map(typeOf))].sort();
  const chosen = provider.subscribeTo;
  const others = seen.filter((type) => !chosen.includes(type));
  const table = (types: readonly string[]): string =>
    [
      "| event | examples | money | MRR | besides |",
      "| --- | --- | --- | --- | --- |",
      ...types.flatMap((type) => rowsOf(type, fixtures)),
    ].join("\n");
  return [
    `## ${provider.token}`,
    table(chosen),
    ...(others.length === 0 ? [] : ["Not to be subscribed to, and what becomes of them:"]),
    ...(others.length === 0 ? [] : [table(others)]),
    ...flatOf(provider),
    ...flatPaymentsOf(provider),
  ].join("\n\n");
}

/** When they are received, whatever the clock says. */
const receivedAt = Date.UTC(2026, 10, 20);

function readAsServed(provider: Provider, { name, body, known }: Fixture): ReadFixture {
  // Apple's signatures are part of the body; any key will do, since nothing is verified here.
  const sent = provider.token === "apple" ? signNotification(body, makeTestChain()) : body;
  const parsed = parseBody(provider, sent);
  if (!parsed.ok) throw new Error(`${name}: ${parsed.message}`);
  const heading = provider.heading(parsed.value, { "webhook-id": name }, receivedAt);
  const nativeId = heading?.nativeId ?? name;
  const times = { receivedAt, firstReceivedAt: receivedAt };
  const decoded = provider.decode(parsed.value, { ...known, ...times, nativeId });
  return { name, heading, decoded, isAnswered: known.answers.size > 0 };
}

function typeOf({ heading }: ReadFixture): string {
  return heading?.nativeType ?? "no event";
}

/** Examples with the same effect share a row. */
function rowsOf(type: string, fixtures: readonly ReadFixture[]): string[] {
  const rows = new Map<string, string[]>();
  for (const fixture of fixtures.filter((one) => typeOf(one) === type)) {
    const { money, mrr, besides } = effectOf(fixture);
    const effect = [money, mrr, besides].map(cell).join(" | ");
    const names = rows.get(effect) ?? [];
    names.push(exampleOf(fixture.name, type));
    rows.set(effect, names);
  }
  if (rows.size === 0) return [`| \`${type}\` | no example | | | |`];
  return [...rows].map(([effect, names]) => `| \`${type}\` | ${names.join(", ")} | ${effect} |`);
}

/** What reports it from other examples of its type. */
function exampleOf(name: string, type: string): string {
  if (!name.toLowerCase().startsWith(type.toLowerCase())) return name;
  return name.slice(type.length).replace(/^\./, "") || "plain";
}

function flatOf({ flatTypes }: Provider): string[] {
  const pairs = Object.entries(flatTypes);
  if (pairs.length === 0) return [];
  const reported = pairs.map(([type, meaning]) => `\`${type}\` is ${meaning}`);
  return [
    `In the flat form B of the ingest endpoint: ${reported.join(", ")}. Each sale and each new ` +
      "subscription books its amount there: events of one payment must share `transaction_id`.",
  ];
}

function flatPaymentsOf({ flatPayments = {} }: Provider): string[] {
  const prefixes = [...new Set(Object.values(flatPayments))];
  if (prefixes.length === 0) return [];
  const reported = prefixes.map((prefix) => {
    const types = Object.keys(flatPayments).filter((type) => flatPayments[type] === prefix);
    return `\`${prefix}\` by ${types.map((type) => `\`${type}\``).join(", ")}`;
  });
  return [
    `Before a \`transaction_id\` stands, unless it begins so: ${reported.join("; ")}. ` +
      "So a payment that several of them report is sent with the same of these words in front.",
  ];
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
