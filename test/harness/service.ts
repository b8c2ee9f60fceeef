/** The whole service in this process, on a temporary folder and a free port, all roles running. */
import { readConfig } from "../../config.js";
import { type Started, roleNames, start } from "../../start.js";
import type { Service } from "../../service.js";
import { newKey, settingsOf } from "./backends.js";
import { placeDatabase } from "./empty-database.js";
import { until } from "./promises.js";
import { testFolder, testLogger, testReleases, testServers } from "./stores.js";
import { openAnswersApi } from "../apis/answers-api.js";
import { openAppStore } from "../apis/app-store.js";
import { openGooglePlay } from "../apis/google-play.js";
import { openGumroadApi } from "../apis/gumroad-api.js";
import { client, openIdentityServers } from "../apis/identity-servers.js";
import { openMailServer } from "../apis/mail-server.js";
import { openPaddleApi } from "../apis/paddle-api.js";
import { openStripeApi } from "../apis/stripe-api.js";

/** Where the service asks; nothing but a test's own integration has a key for one of them. */
async function openApis() {
  const answersApi = await openAnswersApi();
  return {
    stripeApi: await openStripeApi(),
    play: await openGooglePlay(),
    appStore: await openAppStore(),
    gumroadApi: await openGumroadApi(),
    paddleApi: await openPaddleApi((request, response) => answersApi.answer(request, response)),
    /** Of Lemon Squeezy; of Paddle for keys of its own. */
    answersApi,
    mailServer: await openMailServer(),
    /** Where people sign in. */
    identityServers: await openIdentityServers(),
  };
}
type Apis = Awaited<ReturnType<typeof openApis>>;

export interface TestService extends Apis {
  readonly service: Service;
  /** `http://localhost:<port>` */
  readonly base: string;
  readonly adminToken: string;
}

interface Opened {
  readonly settings: string;
  readonly started: Promise<Started & Apis>;
}
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

/** Of all workspaces. @returns a `complete_to` that covers all sent so far */
export async function allBooked({ service }: Pick<TestService, "service">): Promise<string> {
  const now = Date.now();
  let complete = 0;
  await until(async () => (complete = await service.watermark.completeTo()) >= now);
  return new Date(complete).toISOString();
}

async function startForTests(overrides: Readonly<Record<string, string>>): Promise<Started & Apis> {
  const apis = await openApis();
  const servers = await testServers();
  if (servers === null) await placeDatabase(testFolder);
  const config = readConfig({
    PORT: "0",
    DATA_DIR: testFolder,
    RATES_REFRESH: "off",
    // Tests may have filled tables in the folder before; it makes no key of its own there then.
    VAULT_ENCRYPTION_KEY: newKey(),
    STRIPE_API_URL: apis.stripeApi.url,
    GOOGLE_API_URL: apis.play.url,
    APPLE_API_URL: apis.appStore.url,
    GOOGLE_TOKEN_HOSTS: new URL(apis.play.url).hostname,
    GUMROAD_API_URL: apis.gumroadApi.url,
    PADDLE_API_URL: apis.paddleApi.url,
    LEMONSQUEEZY_API_URL: apis.answersApi.url,
    POLAR_API_URL: apis.answersApi.url,
    CHARGEBEE_API_URL: apis.answersApi.url,
    // They answer faster than any provider would let us ask.
    PROVIDER_CALLS_PER_SECOND: "1000",
    SMTP_URL: apis.mailServer.url,
    MAIL_FROM: "Revenue <revenue@example.com>",
    // Receivers of tests are on this machine.
    OUTBOUND_PRIVATE_ADDRESSES: "on",
    OIDC_ISSUER: apis.identityServers.oidcUrl,
    OIDC_CLIENT_ID: client.id,
    OIDC_CLIENT_SECRET: client.secret,
    GITHUB_URL: apis.identityServers.gitHubUrl,
    GITHUB_API_URL: apis.identityServers.gitHubUrl,
    GITHUB_CLIENT_ID: client.id,
    GITHUB_CLIENT_SECRET: client.secret,
    // Tests make refused calls from one address faster than any honest caller.
    RATE_LIMIT_REFUSED: "100000",
    ...(servers === null ? {} : settingsOf(servers)),
    ...overrides,
  });
  const started = await start(config, roleNames, testLogger);
  testReleases.push("service", () => started.stop());
  return { ...started, ...apis };
}
