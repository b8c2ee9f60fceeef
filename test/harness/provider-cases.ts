/** What each provider is tried with: credentials of its integrations, and its folder's examples. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectFile } from "../../runtime/project-root.js";
import { readConfig } from "../../config.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import { createProviders } from "../../providers/index.js";
import type { Known, ProviderToken } from "../../providers/provider.js";
import { credentialsOf, makeSigner } from "../apis/google-signer.js";

export const providers = createProviders(readConfig({}));

export interface Case {
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
export const cases: Partial<Record<ProviderToken, Case>> = {
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
  polar: {
    current: { signing_secret: "whsec_of_one", access_token: "polar_oat_of_one" },
    other: { signing_secret: "whsec_of_another" },
    toleranceSeconds: 300,
    signsBody: true,
  },
  chargebee: {
    current: { username: "revenue", password: "of-the-providers-test" },
    other: { password: "of-another-integration" },
    toleranceSeconds: null,
    signsBody: false,
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

export interface Fixture {
  readonly name: string;
  /** As the provider sends it, before it is signed. */
  readonly body: Buffer;
  readonly known: Known;
  readonly expected: { readonly outcome: string };
}

const bodyFile = /(?<!\.facts|\.answers|\.kept)\.(json|form)$/;

/** All of a provider, in the order of their files' names. */
export function fixturesOf(token: ProviderToken): Fixture[] {
  return readdirSync(folderOf(token))
    .filter((file) => bodyFile.test(file))
    .sort()
    .map((file) => readFixture(token, file));
}

export function fixtureOf(token: ProviderToken, name: string): Fixture {
  const isForm = existsSync(join(folderOf(token), `${name}.form`));
  return readFixture(token, `${name}.${isForm ? "form" : "json"}`);
}

/**
 * Beside `<name>.json` (or `.form`) may lie `<name>.answers.json`, the API's answers by path, and
 * `<name>.kept.json`, kept objects by id.
 */
function readFixture(token: ProviderToken, file: string): Fixture {
  const folder = folderOf(token);
  const name = file.replace(bodyFile, "");
  const besides = (what: "answers" | "kept"): Map<string, unknown> => {
    const path = join(folder, `${name}.${what}.json`);
    return new Map(existsSync(path) ? Object.entries(readJson(path)) : []);
  };
  return {
    name,
    body: readFileSync(join(folder, file)),
    known: { kept: besides("kept"), answers: besides("answers") },
    expected: readJson(join(folder, `${name}.facts.json`)),
  };
}

function folderOf(token: ProviderToken): string {
  return projectFile("providers", token, "fixtures");
}

function readJson(file: string): { outcome: string } {
  return JSON.parse(readFileSync(file, "utf8"));
}
