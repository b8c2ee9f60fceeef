/** The whole service in this process, on a temporary folder and a free port, all roles running. */
import { readConfig } from "../../config.js";
import { type Started, roleNames, start } from "../../start.js";
import type { Service } from "../../runtime/service.js";
import { newKey, settingsOf } from "./backends.js";
import { placeDatabase } from "./empty-database.js";
import { testFolder, testLogger, testReleases, testServers } from "./stores.js";
import { type AnswersApi, openAnswersApi } from "../apis/answers-api.js";
import { type GooglePlay, openGooglePlay } from "../apis/google-play.js";
import { type GumroadApi, openGumroadApi } from "../apis/gumroad-api.js";
import { type IdentityServers, client, openIdentityServers } from "../apis/identity-servers.js";
import { openStripeApi, type StripeApi } from "../apis/stripe-api.js";

export interface TestService {
  readonly service: Service;
  /** `http://localhost:<port>` */
  readonly base: string;
  readonly adminToken: string;
  /** Where the service asks Stripe; nothing but a test's own integration has a key for it. */
  readonly stripeApi: StripeApi;
  /** Where it asks Google Play. */
  readonly play: GooglePlay;
  /** Where it asks Gumroad. */
  readonly gumroadApi: GumroadApi;
  /** Where it asks Paddle and Lemon Squeezy. */
  readonly answersApi: AnswersApi;
  /** Where people sign in. */
  readonly identityServers: IdentityServers;
}

interface Opened {
  readonly settings: string;
  readonly started: Promise<Started & Apis>;
}
type Apis = Pick<
  TestService,
  "stripeApi" | "play" | "gumroadApi" | "answersApi" | "identityServers"
>;
let opened: Opened | undefined;

/**
 * One for the whole run, closed after it: the first call decides the settings, and another call
 * that wants others is a mistake in the test.
 */
export async function openTestService(
  overrides: Readonly<Record<string, string>> = {},
): Promise<TestService> {
  const settings = JSON.stringify(overrides);
  opened ??= { settings, started: startForTests(overrides) };
  if (opened.settings !== settings && settings !== "{}") {
    throw new Error(`the service of this run is open with other settings: ${opened.settings}`);
  }
  const { service, url: base, ...more } = await opened.started;
  return { ...more, service, base, adminToken: service.adminToken };
}

async function startForTests(overrides: Readonly<Record<string, string>>): Promise<Started & Apis> {
  const stripeApi = await openStripeApi();
  const play = await openGooglePlay();
  const gumroadApi = await openGumroadApi();
  const answersApi = await openAnswersApi();
  const identityServers = await openIdentityServers();
  const servers = await testServers();
  if (servers === null) await placeDatabase(testFolder);
  const config = readConfig({
    PORT: "0",
    DATA_DIR: testFolder,
    RATES_REFRESH: "off",
    // Tests may have filled tables in the folder before; it makes no key of its own there then.
    VAULT_ENCRYPTION_KEY: newKey(),
    STRIPE_API_URL: stripeApi.url,
    GOOGLE_API_URL: play.url,
    GOOGLE_TOKEN_HOSTS: new URL(play.url).hostname,
    GUMROAD_API_URL: gumroadApi.url,
    PADDLE_API_URL: answersApi.url,
    LEMONSQUEEZY_API_URL: answersApi.url,
    OIDC_ISSUER: identityServers.oidcUrl,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    GITHUB_URL: identityServers.gitHubUrl,
    GITHUB_API_URL: identityServers.gitHubUrl,
    GITHUB_CLIENT_ID: client.id,
    GITHUB_CLIENT_SECRET: client.secret,
    // Tests make refused calls from one address faster than any honest caller.
    RATE_LIMIT_REFUSED: "100000",
    ...(servers === null ? {} : settingsOf(servers)),
    ...overrides,
  });
  const started = await start(config, roleNames, testLogger);
  testReleases.push("service", () => started.stop());
  return { ...started, stripeApi, play, gumroadApi, answersApi, identityServers };
}
