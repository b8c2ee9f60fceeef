/**
 * Every setting of the service: read once at start, all errors reported together, by name. `limits`
 * names every maximum; those an operator may need to change are settings.
 */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { pageRows } from "./schemas/http/pages.js";
import { segmentAccountsMax } from "./schemas/http/segments.js";
import { seriesGroupsMax } from "./schemas/http/series.js";
import { issueText } from "./schemas/issues.js";
import { jsonDepthMax } from "./schemas/parse.js";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** Maxima that are part of the interface or of the design, not settings. */
export const limits = {
  /** `definitions.md`, Limits: one event. */
  bodyBytesMax: 1 * mebibyte,
  /** `definitions.md`, Batch. */
  batchBytesMax: 16 * mebibyte,
  batchLinesMax: 10_000,
  /** Of all batches one process takes at a time: while taken, one needs several times its size. */
  batchesBytesMax: 64 * mebibyte,
  /** Of one workspace's, so that slow or unfinished uploads of one key do not shut out others. */
  batchesPerWorkspaceBytesMax: 32 * mebibyte,
  jsonDepthMax,
  idempotencyKeyLengthMax: 255,
  pageRowsDefault: pageRows.default,
  pageRowsMax: pageRows.max,
  /** Deliveries shown of one raw event, the first ones. */
  eventDeliveriesMax: 100,
  /** Rows of each kind shown of what was recorded under one raw event. */
  eventRowsMax: 1_000,
  /** How long an explanation waits for what follows a transaction that is listed already. */
  explanationMsMax: 2_000,
  /** Exports being sent at a time, of all workspaces and of one; each reads page by page. */
  exportsAtOnceMax: 4,
  exportsPerWorkspaceMax: 1,
  /** How long a caller may take nothing of an export before it is cut short. */
  exportStalledMsMax: 60_000,
  /**
   * Rows an export reads, shows and writes before others get their turn (10 ms). Planning a read
   * takes as long as the first 1,000 of its rows.
   */
  exportPageRows: 3_000,
  /**
   * Questions of one key or session at a time, and those that wait: half of the connections to the
   * store are left to others.
   */
  embeddedReadsAtOnceMax: 2,
  readsAtOnceMax: 8,
  readsWaitingMax: 100,
  /** Intervals of one series over time: ten years of days. */
  seriesIntervalsMax: 4_000,
  /** Groups of one series shown one by one; the smaller ones are added up. */
  seriesGroupsMax,
  /** Of one workspace: all of them are looked at every few minutes. */
  alertsMax: 100,
  /** Alerts one process takes at a time, one after the other: readers come first. */
  alertsAtOnceMax: 100,
  /** How often figures are read for alerts, and how often rejects and comparisons are. */
  alertFigureLookMs: 5 * 60_000,
  alertLookMs: 60_000,
  /** Between two firings of one alert, however often its condition becomes true. */
  alertRestMs: 60 * 60_000,
  /** What a test on history, or a look after a standstill, reads back. */
  alertHistoryMs: 90 * 24 * 60 * 60_000,
  /** Firings of one alert that are kept, and those that a test or a message lists one by one. */
  alertFiringsKeptMax: 1_000,
  alertFiringsListedMax: 20,
  /** How long firings are gathered for one message. */
  alertGatherMs: 5_000,
  /** Messages to one receiver in one day (UTC); the rest is sent as one on the next day. */
  alertMessagesPerDayMax: 20,
  /** Rows of messages one look takes. */
  alertMessagesAtOnceMax: 1_000,
  /** Tries of one message, the first included, and the pause after the first; it then triples. */
  alertTriesMax: 8,
  alertRetryMs: 60_000,
  /** Of one workspace: all of them are on one page, so that charts show them all. */
  annotationsMax: pageRows.max,
  goalsMax: pageRows.max,
  /** The same of segments, for the menu of filters; of one list; and what is kept of all. */
  segmentsMax: pageRows.max,
  segmentAccountsMax,
  segmentRevisionsMax: 10_000,
  segmentAccountsKeptMax: 1_000_000,
  /** Revisions one process holds, each with up to a list of accounts. */
  segmentsHeldMax: 50,
  /** Programs that registered themselves to be connected over /mcp; unused ones make room. */
  oauthClientsMax: 10_000,
  oauthRegistrationsPerMinuteMax: 60,
  oauthClientNameLengthMax: 60,
  oauthRedirectUrisMax: 10,
  oauthBodyBytesMax: 64 * kibibyte,
  /** Documents of programs one process keeps, and for how long, within what they ask. */
  oauthDocumentsKeptMax: 500,
  oauthDocumentMsMin: 60_000,
  oauthDocumentMsMax: 24 * 60 * 60_000,
  /** All of them are on one page of the member's settings. */
  assistantsPerMemberMax: 50,
  /** Proofs of one workspace that are not revoked, and public keys that are listed. */
  proofsMax: 100,
  proofKeysMax: 20,
  /** Statements of proofs that one process holds. */
  proofsKeptMax: 500,
  /** Digests, or alerts, one process sends at a time: a slow receiver delays few others. */
  digestsAtOnceMax: 10,
  /** Days of the picture in a digest, those of a month at least. */
  digestDaysDrawn: 31,
  /** Products one digest asks of what changed: it names the first. */
  digestProductsMax: 1,
  /** A mail program that unsubscribes sends one short line. */
  unsubscribeBytesMax: 1 * kibibyte,
  /** Tries of one digest, the first included, and the pause after the first; it then triples. */
  digestTriesMax: 6,
  digestRetryMs: 5 * 60_000,
  /** How long a mail server, a receiver of messages or a program's document may take. */
  deliveryMsMax: 30_000,
  /** What is read of the answer of an address that others chose. */
  outboundAnswerBytesMax: 64 * kibibyte,
  /** Of one workspace, each of which gets every event it wants. */
  webhookEndpointsMax: 20,
  /** Of one endpoint; one that has more is disabled, and gets nothing more. */
  webhookPendingMax: 100_000,
  /** How long deliveries are kept and may be sent again; older records of the log make none. */
  webhookDeliveriesKeptMs: 30 * 24 * 60 * 60 * 1000,
  webhookPayloadBytesMax: 64 * kibibyte,
  /** Calls of one endpoint at a time, each about another account. */
  webhookCallsMax: 4,
  /** Endpoints one process calls at a time: slow ones delay no others until they are so many. */
  webhookEndpointsAtOnceMax: 500,
  /** The pause after the first failure; it then grows fourfold, up to the longest. */
  webhookRetryMs: 5_000,
  webhookRetryMsMax: 8 * 60 * 60 * 1000,
  /** A delivery that failed for so long is given up, and so is an endpoint. */
  webhookRetriesForMs: 3 * 24 * 60 * 60 * 1000,
  /** Deliveries one call sends again. */
  webhookReplaysMax: 10_000,
  /** After it further deliveries of an endpoint are asked for, beside those of slow accounts. */
  webhookBatchMs: 1_000,
  /** Records that are made deliveries in one transaction. */
  webhookBatchRecordsMax: 500,
  /** Rows of one series, its intervals times its groups. */
  seriesRowsMax: 50_000,
  /**
   * Changes of subscriptions that two definitions of MRR are compared by, each of which takes some
   * 30 µs of processor time; and about how many are held at a time.
   */
  comparedChangesMax: 100_000,
  comparedSliceRows: 20_000,
  /** Of a series by another definition: each account is read at the end of each interval. */
  definedIntervalsMax: 60,
  /**
   * Minor units, of the original and of the base currency. Fifteen digits are what a JSON number
   * (a double) shows exactly wherever the decimal point stands.
   */
  amountMinorMax: 999_999_999_999_999n,
  /** An event may be dated this far ahead of the receipt. */
  eventAheadMsMax: 24 * 60 * 60 * 1000,
  /** The same of the test environment: the test clocks of providers run ahead. */
  eventAheadTestMsMax: 731 * 24 * 60 * 60 * 1000,
  /** Nothing this service books is older; also keeps a date of 0 or in seconds from being taken. */
  eventEarliest: Date.UTC(2000, 0, 1),
  idempotencyKeyTtlMs: 24 * 60 * 60 * 1000,
  rotatedCredentialsTtlMs: 24 * 60 * 60 * 1000,
  /** Old credentials of one integration that count; a delivery may be held against each. */
  oldCredentialsMax: 10,
  /** Rows that wait for ClickHouse, as text; beyond it booking waits, too. */
  outboxBytesMax: 1024 * mebibyte,
  /** Facts of one payment (refunds, readings) that say anything; later ones are rejected. */
  factsPerPaymentMax: 1_000,
  /** Ledger rows of one payment (its refunds times its products): the same. */
  ledgerRowsPerPaymentMax: 200_000,
  /** Payments of one invoice that share its tax and lines, those reported first. */
  paymentsPerPurchaseMax: 100,
  /** Form A subscriptions and churns without an id of one provider, product, amount, currency. */
  unidentifiedPoolSidesMax: 100_000,
  /** Changes of one account, by the items of each (1 at least); later ones are rejected. */
  accountSizeMax: 100_000,
  /** Of those that leave nothing that counts so many more: what began must be able to end. */
  accountEndsMax: 100_000,
  /**
   * Accounts one subscription was reported under, and its newest changes, that are held together.
   */
  accountsOfSubscriptionMax: 1_000,
  changesOfSharedMax: 10_000,
  /** Lines of one payment, items of one subscription. */
  linesPerPurchaseMax: 1_000,
  itemsPerSubscriptionMax: 500,
  /** Events of one thing kept together (changes of one membership's plan): those reported first. */
  mergedFieldsMax: 200,
  /** The most payments of one month that a reconciliation compares; it holds them in memory. */
  reconciledPaymentsMax: 250_000,
  /** Differences of one month kept row by row; all of them are counted. */
  differencesPerMonthMax: 200,
  /** Months one call asks to compare, or shows. */
  reconciledMonthsMax: 36,
  /** Days and payouts of one call that lists payouts to the bank. */
  payoutDaysMax: 366,
  payoutsListedMax: 500,
  /** Lines of one payout that are read, a hundred a call of the provider's API. */
  payoutLinesMax: 5_000,
  /** Rounds of questions to a provider's API one event may lead to. */
  enrichmentRoundsMax: 8,
  /** Questions of one event in all; what they leave open is as if the API could not be had. */
  enrichmentQuestionsMax: 500,
  /** Events that ask are taken so many at a time. */
  enrichmentBatchRecordsMax: 25,
  /** An integration that delivered before and is silent for so long is reported as `quiet`. */
  integrationQuietMs: 7 * 24 * 60 * 60 * 1000,
  /** Records one step takes at a time: a statement costs much the same for many as for a few. */
  normalizeBatchRecordsMax: 2_000,
  bookBatchRecordsMax: 5_000,
  /** How long a start waits for servers that do not answer, or no longer do. */
  startPatienceMsMax: 120_000,
  /** How long a process may be silent before another does what only one may do. */
  leaseMs: 15_000,
  /** How long figures wait for the calls at the endpoints of a process that is silent. */
  receiptsLeaseMs: 10_000,
  postgresConnectMsMax: 5_000,
  /** Connections of one process that read from a ClickHouse server; write lanes have theirs. */
  clickhouseReadersMax: 16,
  /** Bytes waiting for the log's next commit; the next append is refused (LogUnavailable). */
  logPendingBytesMax: 256 * mebibyte,
  /** Records of the log in one file of a backup, beside the last one; it is read whole. */
  backupFileBytesMax: 64 * mebibyte,
  /** Bytes of records a consumer is given at once; a single record may be larger. */
  consumedBytesMax: 8 * mebibyte,
  /** Records one commit of the log takes, so that a long queue does not stall the process. */
  logCommitRecordsMax: 5_000,
  kafkaAnswerMsMax: 5_000,
  kafkaStartMsMax: 30_000,
  /** How long an append may wait for Kafka; then it is refused (LogUnavailable). */
  kafkaAppendMsMax: 8_000,
  /** Bytes of one partition fetched at once, and held until a handler takes them. */
  kafkaFetchBytesMax: 1 * mebibyte,
  /** Between two requests of a consumer or tail for records, and two of a group to commit. */
  kafkaLingerMs: 10,
  /**
   * How long running batches may hold up the group when members come or go. One that takes longer
   * is handled again by another member: where all are slow, none would ever be finished.
   */
  kafkaRebalanceMsMax: 30_000,
  /** Rejects one call of the management interface puts back on the raw topic. */
  replayRecordsMax: 1_000,
  /** Changes, and as many movements, an audit or a rebuild holds at a time. */
  auditSliceRows: 50_000,
  /** Differences an audit names of each table of a workspace; all are counted. */
  auditExamplesMax: 20,
  /** The last audit of everything is reported as overdue: a day, and the hours one may take. */
  auditOverdueMs: 26 * 60 * 60 * 1000,
  /** A consumer's handler failed: pause before the same batch, doubling up to this. */
  retryPauseMsMax: 2_000,
  /** At a stop, how long calls that are being answered may go on. */
  openCallsMsMax: 3_000,
  /** Series of one metric of ours (combinations of labels); further ones are counted as `other`. */
  metricSeriesMax: 1_000,
  /** How long a stop may take before the process ends anyway. */
  stopMsMax: 9_000,
  socketBufferedBytesMax: 1 * mebibyte,
  /** Messages a resuming socket may ask back; older cursors are closed with 4410. */
  socketReplayRecordsMax: 100_000,
  socketsPerKeyMax: 100,
} as const;

/** How far ahead of its receipt an event may be dated. */
export function eventAheadMs(environment: "live" | "test"): number {
  return environment === "test" ? limits.eventAheadTestMsMax : limits.eventAheadMsMax;
}

const hex64 = z
  .string()
  .regex(
    /^[0-9a-fA-F]{64}$/,
    "must be 64 hexadecimal characters; make one with: openssl rand -hex 32",
  );
const http = z.url({ protocol: /^https?$/, error: "must be a URL as https://host:port" });
const url = http.transform((text) => text.replace(/\/+$/, ""));
const postgres = z.url({
  protocol: /^postgres(?:ql)?$/,
  error: "must be a URL as postgres://user:password@host:5432/database",
});
const hosts = z
  .string()
  .regex(/^[^\s,:/]+(,[^\s,:/]+)*$/, "must be host names, several with commas between");
const whole = z.coerce.number("must be a number").int("must be a whole number");
const positive = whole.positive("must be above 0");
const portMax = 65_535;

const port = whole.min(0, "must not be negative").max(portMax, `must not be above ${portMax}`);

const settings = z.object({
  PORT: port.default(3000),
  /** Where `/metrics` is; absent: on `PORT`. */
  METRICS_PORT: port.optional(),
  DATA_DIR: z.string().min(1).default("./data"),
  PUBLIC_URL: url.optional(),
  /** `on`: nobody but a proxy reaches the port, and what it says of a caller is believed. */
  TRUST_PROXY: z.enum(["on", "off"]).default("off"),
  ADMIN_TOKEN: z.string().min(32, "must have at least 32 characters").optional(),
  VAULT_ENCRYPTION_KEY: hex64.optional(),
  VAULT_ENCRYPTION_KEY_PREVIOUS: hex64.optional(),
  /** `host:port`, several with commas. */
  KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s:,]+:\d+(,[^\s:,]+:\d+)*$/, "must be host:port, several with commas between")
    .optional(),
  /** Of each topic that is made; a topic that is there must have as many. */
  KAFKA_PARTITIONS: positive.max(1_000).default(8),
  /** Copies of each partition of a topic that is made; else what the brokers are set to. */
  KAFKA_REPLICATION: positive.max(100).optional(),
  KAFKA_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{1,100}$/, "must be letters, digits, dots, dashes, underscores")
    .optional(),
  KAFKA_TLS: z.enum(["on", "off"]).default("off"),
  KAFKA_TLS_CA_FILE: z.string().optional(),
  KAFKA_TLS_CERT_FILE: z.string().optional(),
  KAFKA_TLS_KEY_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z.enum(["plain", "scram-sha-256", "scram-sha-512"]).optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  CLICKHOUSE_URL: http.optional(),
  /** As `remote_servers` of its servers names it. */
  CLICKHOUSE_CLUSTER: z.string().optional(),
  /** Of each shard of it, several with commas; else its hosts, as CLICKHOUSE_URL otherwise. */
  CLICKHOUSE_SHARD_URLS: z
    .string()
    .refine(
      (text) => text.split(",").every((one) => http.safeParse(one).success),
      "must be URLs as https://host:port, several with commas between",
    )
    .optional(),
  DATABASE_URL: postgres.optional(),
  /** With Kafka: the databases of the books, several with commas, always in the same order. */
  STATE_DATABASE_URLS: z
    .string()
    .refine(
      (text) => text.split(",").every((one) => postgres.safeParse(one).success),
      "must be URLs as postgres://user:password@host:5432/database, several with commas between",
    )
    .optional(),
  SCHEMA_REGISTRY_URL: url.optional(),
  /** Identity providers for sign-in: an id and its secret, and where each one is. */
  GOOGLE_CLIENT_ID: z.string().optional(),
  GOOGLE_CLIENT_SECRET: z.string().optional(),
  GOOGLE_ISSUER: url.default("https://accounts.google.com"),
  GITHUB_CLIENT_ID: z.string().optional(),
  GITHUB_CLIENT_SECRET: z.string().optional(),
  GITHUB_URL: url.default("https://github.com"),
  GITHUB_API_URL: url.default("https://api.github.com"),
  /** Left as it is: an issuer is compared letter by letter, a slash at the end included. */
  OIDC_ISSUER: http.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_LABEL: z.string().max(50).optional(),
  /** Who may create workspaces besides the administrator: the installation's owner, or members. */
  WORKSPACE_CREATION: z.enum(["owner", "members"]).default("owner"),
  /** `smtp://` or `smtps://user:password@host:port`; without it no e-mail is sent. */
  SMTP_URL: z.url({ protocol: /^smtps?$/, error: "must be a URL as smtps://host:465" }).optional(),
  MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, "must be an address: Revenue <revenue@example.com>")
    .optional(),
  /** `on`: webhooks may go to http:// and to private networks; for installations within one. */
  OUTBOUND_PRIVATE_ADDRESSES: z.enum(["on", "off"]).default("off"),
  /** A clock that reported times up to this one was ahead and has been corrected: start by it. */
  CLOCK_SET_BACK_FROM: z.iso
    .datetime("must be a time as 2026-01-31T12:00:00.000Z")
    .transform((text) => Date.parse(text))
    .optional(),
  LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
  /** Where each provider's API is: scheme and host; absent where the credentials decide. */
  STRIPE_API_URL: url.default("https://api.stripe.com"),
  PADDLE_API_URL: url.optional(),
  LEMONSQUEEZY_API_URL: url.default("https://api.lemonsqueezy.com"),
  POLAR_API_URL: url.optional(),
  CHARGEBEE_API_URL: url.optional(),
  REVENUECAT_API_URL: url.default("https://api.revenuecat.com"),
  GUMROAD_API_URL: url.default("https://api.gumroad.com"),
  APPLE_API_URL: url.optional(),
  GOOGLE_API_URL: url.default("https://androidpublisher.googleapis.com"),
  /** Of each integration; absent: as many as its provider allows. */
  PROVIDER_CALLS_PER_SECOND: positive.optional(),
  /** Hosts beside Google's own that `token_uri` of a service account's key may name. */
  GOOGLE_TOKEN_HOSTS: hosts.optional(),
  /** Hosts beside reports.paddle.com that Paddle's reports may be downloaded from. */
  PADDLE_FILE_HOSTS: hosts.optional(),
  /** Where the wide list of rates is fetched by date; `{date}` is replaced. */
  WIDE_RATES_URL: z
    .string()
    .includes("{date}")
    .default(
      "https://cdn.jsdelivr.net/npm/@fawazahmed0/currency-api@{date}/v1/currencies/eur.min.json",
    ),
  ECB_RATES_URL: url.default("https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist-90d.xml"),
  /** Asked where days before these 90 are missing. */
  ECB_HISTORY_URL: url.default("https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.xml"),
  /** `off` leaves the rates as they are (tests, machines without a network). */
  RATES_REFRESH: z.enum(["on", "off"]).default("on"),
  /** Requests a second for one API key. */
  RATE_LIMIT_PER_KEY: positive.default(2_000),
  /** Refused calls (401, 404) a second from one address. */
  RATE_LIMIT_REFUSED: positive.default(20),
  /** Seconds a Stripe signature may be old; Stripe's own libraries use 300. */
  STRIPE_TOLERANCE_SECONDS: positive.default(300),
  /** Paddle's own libraries use 5, too little behind a queue or a proxy. */
  PADDLE_TOLERANCE_SECONDS: positive.default(60),
  /** RevenueCat and Standard Webhooks name 300. */
  REVENUECAT_TOLERANCE_SECONDS: positive.default(300),
  CUSTOM_TOLERANCE_SECONDS: positive.default(300),
  RAW_RETENTION_DAYS: positive.optional(),
  FACTS_RETENTION_DAYS: positive.default(7),
  PUBLIC_TOPICS_RETENTION_DAYS: positive.default(90),
  /** Of the raw topic in all; the oldest that were handled go first. */
  RAW_RETENTION_BYTES: positive.optional(),
  /** Of each of the two public topics. */
  PUBLIC_TOPICS_RETENTION_BYTES: positive.optional(),
  CLICKHOUSE_MEMORY_BYTES: positive.default(1_500 * mebibyte),
  CLICKHOUSE_THREADS: positive.default(2),
});

export type Config = Readonly<z.output<typeof settings>>;

/** The settings that are absent, so that their backend is the embedded one. */
export function embeddedBackends(config: Config): string[] {
  return (["KAFKA_BROKERS", "CLICKHOUSE_URL", "DATABASE_URL"] as const).filter(
    (name) => config[name] === undefined,
  );
}

/** Every setting there is, also those that are absent by default. */
export const settingNames: readonly string[] = Object.keys(settings.shape);

/** Never shown; each may stand in a file instead, named by the setting with `_FILE` behind it. */
export const secretSettings: readonly string[] = [
  "ADMIN_TOKEN",
  "VAULT_ENCRYPTION_KEY",
  "VAULT_ENCRYPTION_KEY_PREVIOUS",
  "KAFKA_SASL_PASSWORD",
  "GOOGLE_CLIENT_SECRET",
  "GITHUB_CLIENT_SECRET",
  "OIDC_CLIENT_SECRET",
  // URLs may carry a user and a password.
  "CLICKHOUSE_URL",
  "CLICKHOUSE_SHARD_URLS",
  "DATABASE_URL",
  "STATE_DATABASE_URLS",
  "SCHEMA_REGISTRY_URL",
  "SMTP_URL",
];

/** All that is wrong with the settings, one line each. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  constructor(readonly problems: readonly string[]) {
    super(`The settings are not right:\n${problems.map((line) => `  ${line}`).join("\n")}`);
  }
}

/** @throws ConfigError naming every setting that is wrong. An empty value counts as absent. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = withFiles(
    Object.fromEntries(Object.entries(env).filter(([, value]) => value !== "")),
  );
  const result = settings.safeParse(given);
  if (!result.success) {
    throw new ConfigError(
      result.error.issues.map((issue) => issueText(issue.path.join("."), issue)),
    );
  }
  const lonely = companions.filter(
    ([name, needed]) => result.data[name] !== undefined && result.data[needed] === undefined,
  );
  const problems = lonely.map(([name, needed, why]) => `${name}: needs ${needed}, ${why}`);
  if (result.data.RAW_RETENTION_BYTES !== undefined && result.data.KAFKA_BROKERS !== undefined) {
    problems.push(
      "RAW_RETENTION_BYTES: is for the embedded log, which keeps unbooked events; " +
        "Kafka would remove them. Use RAW_RETENTION_DAYS",
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(result.data);
}

/** Secrets that stand in files, as container platforms mount them. @throws ConfigError */
function withFiles(given: Readonly<Record<string, string | undefined>>) {
  const read: Record<string, string | undefined> = { ...given };
  const problems: string[] = [];
  for (const name of secretSettings) {
    const path = given[`${name}_FILE`];
    if (path === undefined) continue;
    if (given[name] !== undefined) {
      problems.push(`${name}_FILE: ${name} is set, too; only one of them can count`);
      continue;
    }
    try {
      read[name] = readFileSync(path, "utf8").trim();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push(`${name}_FILE: cannot be read: ${why}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return read;
}

/** What means nothing without another setting is a mistake, not to be passed over. */
const companions = [
  ["CLICKHOUSE_CLUSTER", "CLICKHOUSE_URL", "the address of one of its servers"],
  ["CLICKHOUSE_SHARD_URLS", "CLICKHOUSE_CLUSTER", "whose shards they are"],
  ["STATE_DATABASE_URLS", "KAFKA_BROKERS", "with whose topics the books lie on servers"],
  ["GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET", "the secret of this client"],
  ["GOOGLE_CLIENT_SECRET", "GOOGLE_CLIENT_ID", "the client whose secret it is"],
  ["GITHUB_CLIENT_ID", "GITHUB_CLIENT_SECRET", "the secret of this client"],
  ["GITHUB_CLIENT_SECRET", "GITHUB_CLIENT_ID", "the client whose secret it is"],
  ["OIDC_ISSUER", "OIDC_CLIENT_ID", "the client's id at this issuer"],
  ["OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET", "the secret of this client"],
  ["OIDC_CLIENT_SECRET", "OIDC_ISSUER", "the address of the identity provider"],
  ["OIDC_LABEL", "OIDC_ISSUER", "the identity provider it names"],
  ["SMTP_URL", "MAIL_FROM", "the sender of its e-mails"],
  ["MAIL_FROM", "SMTP_URL", "the server that sends them"],
] as const;
