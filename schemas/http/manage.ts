/** The management interface (`definitions.md`, Management interface): bodies, answers, queries. */
import { z } from "zod";
import { auditFinding } from "../audit.js";
import { pageQuery, pagination } from "./pages.js";
import { categories } from "../products.js";
import { providerTokens } from "../provider-tokens.js";
import { monthReport } from "../reconciliation.js";

export const manageEnvironment = z.enum(["Production", "Test"]);
/** What callers may write for it: the words of keys and figures, too. */
export const writtenEnvironment = z
  .enum(["Production", "Test", "live", "test"])
  .describe("`live` is `Production`, `test` is `Test`")
  .transform((written) => (written === "live" || written === "Production" ? "Production" : "Test"));
const keyScope = z.enum(["Read-only", "Full Ingress"]);
export const baseCurrency = z.enum(["USD", "EUR", "GBP", "INR", "JPY"]);

export const name = z.string().trim().min(1).max(200);
export const timestamp = z.iso.datetime({ offset: true });
export const givenMonth = z.string().regex(/^\d{4}-(0[1-9]|1[0-2])$/, "must be a month: 2026-05");

/** How every single answer is wrapped. */
export const dataAnswer = <T extends z.ZodType>(data: T) =>
  z.object({ status: z.literal("success"), data });
/** How every list is wrapped. */
export const listAnswer = <T extends z.ZodType>(row: T) =>
  z.object({ status: z.literal("success"), data: z.array(row), pagination });

export const listQuery = z.object(pageQuery);

const customerDetails = z
  .enum(["members", "admins", "off"])
  .describe(
    "Who sees names and e-mails of customers: all members, or admins and owners. `off`: nothing " +
      "is kept, and what was kept is erased",
  );
export type CustomerDetails = z.infer<typeof customerDetails>;

export const newWorkspace = z.strictObject({
  name,
  base_currency: baseCurrency.describe("What all figures are in, for good"),
});
export const workspace = z.object({
  id: z.string(),
  name: z.string(),
  base_currency: baseCurrency,
  created_at: timestamp,
});
export type WorkspaceView = z.infer<typeof workspace>;
export const workspaceSettings = z.object({ customer_details: customerDetails });
/** Where it was changed. */
export const workspaceWithSettings = workspace.extend(workspaceSettings.shape);
export type WorkspaceSettings = z.infer<typeof workspaceSettings>;

export const changedWorkspace = z.strictObject({
  name: name.optional(),
  customer_details: customerDetails.optional(),
});

export const erasedCustomer = z.object({
  id: z.string().describe("Of the account"),
});

export const newKey = z.strictObject({
  environment: writtenEnvironment,
  scope: keyScope,
  name: name.optional(),
  expires_at: timestamp.optional(),
});
export const key = z.object({
  id: z.string(),
  prefix: z.string().describe("The first characters, to distinguish keys"),
  environment: manageEnvironment,
  scope: keyScope,
  name: z.string().nullable(),
  created_at: timestamp,
  expires_at: timestamp.nullable(),
  revoked_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
});
export type KeyView = z.infer<typeof key>;
export const createdKey = key.extend({ key: z.string().describe("Shown only here") });

export const rolledKey = z.strictObject({
  old_valid_for: z
    .enum(["none", "1h", "24h", "7d"])
    .describe("How long the old key goes on beside the new one; `none`: it is revoked at once"),
});

export const newIntegration = z.strictObject({
  provider: z.string(),
  environment: writtenEnvironment,
  credentials: z
    .record(z.string(), z.unknown())
    .nullable()
    .describe(
      "Null: entered later, for a provider that shows them only when it knows the URL; " +
        "until then its calls are refused",
    ),
  name: name.optional(),
});
export const newEndpoint = z.strictObject({
  api_key: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .describe("May make webhook endpoints at the provider; kept as the integration's `api_key`"),
});
export const changedIntegration = z.strictObject({
  credentials: z
    .record(z.string(), z.unknown())
    .optional()
    .describe(
      "Those given replace, those left out stay. Null removes an optional one. Where a secret " +
        "can be made, null or an empty object makes a new one",
    ),
  expire_old: z
    .boolean()
    .optional()
    .describe("True ends the old credentials at once instead of after 24 hours"),
  name: name.nullable().optional(),
});
export const integration = z.object({
  id: z.string(),
  provider: z.string(),
  environment: manageEnvironment,
  name: z.string().nullable(),
  webhook_url: z.string(),
  webhook_path: z.string(),
  created_at: timestamp,
  credentials_set: z.array(z.string()).describe("Names of the credentials it has; no values"),
  old_credentials_valid_until: timestamp.nullable(),
});
export type IntegrationView = z.infer<typeof integration>;
const integrationHealth = z.object({
  state: z
    .enum(["unfinished", "waiting", "receiving", "refused", "incomplete", "quiet"])
    .describe(
      "unfinished: its credentials are not entered yet; waiting: no call yet; refused: the last " +
        "call was refused; incomplete: event types that figures need evidently do not come; " +
        "quiet: no call for a week",
    ),
  deliveries: z.int().describe("Calls taken, redeliveries too; up to a minute behind"),
  last_delivery_at: timestamp.nullable(),
  refused: z.int().describe("Calls to its URL that were refused; up to a minute behind"),
  last_refused_at: timestamp.nullable(),
  last_refused_reason: z.string().nullable().describe("The code the caller was answered"),
  open_rejects: z.int().describe("Events taken that are not booked"),
  last_reject_at: timestamp.nullable().describe("When the newest of them was received"),
  last_reject_reason: z.string().nullable(),
  needed_events: z
    .array(
      z.object({
        for: z.enum([
          "payments",
          "renewals",
          "purchases",
          "purchase_links",
          "one_time",
          "subscriptions",
          "ends",
          "refunds",
          "disputes",
        ]),
        types: z.array(z.string()).describe("By the provider's names; any of them is enough"),
        state: z
          .enum(["received", "not_seen", "missing"])
          .describe(
            "not_seen: none has come, perhaps because nothing happened; missing: other events " +
              "prove that they should have come",
          ),
        last_at: timestamp.nullable(),
      }),
    )
    .describe("What figures rest on, and whether its events come; up to minutes behind"),
});
export type IntegrationHealth = z.infer<typeof integrationHealth>;
export type NeededEvents = IntegrationHealth["needed_events"][number];
export const listedIntegration = integration.extend({ health: integrationHealth });
export const createdIntegration = integration.extend({
  credentials: z
    .record(z.string(), z.string())
    .optional()
    .describe("Generated because it was left out; shown only here"),
});

const historyMissing = z
  .array(z.string())
  .describe("What the provider cannot report of the past, in sentences");

export const provider = z.object({
  provider: z.string(),
  name: z.string(),
  credentials: z
    .array(
      z.object({
        name: z.string(),
        required: z.boolean(),
        made: z.boolean().describe("Made when it is left out, and shown once"),
        type: z.enum(["text", "list", "object"]).describe("In JSON; a list is of texts"),
        values: z.array(z.string()).nullable().describe("All that may be entered; null: free"),
        help: z.string().nullable().describe("Where to find it"),
      }),
    )
    .describe("What an integration is given"),
  subscribe_to: z.array(z.string()).describe("Events to choose at the provider, by its names"),
  asks_api: z.boolean().describe("Whether the provider's API is asked, given credentials for it"),
  makes_endpoint: z
    .boolean()
    .describe("Whether the webhook endpoint can be made through the provider's API"),
  history: z.boolean().describe("Whether a backfill can read what was before"),
  history_missing: historyMissing,
  history_ids: z
    .string()
    .nullable()
    .describe("Which ids a backfill may be given; null where the provider lists all there is"),
  history_export: z
    .string()
    .nullable()
    .describe("Which file of the provider a backfill reads; null where it reads none"),
  reports: z
    .string()
    .nullable()
    .describe("Which of the store's monthly reports are read; null: it has none"),
  not_reconciled: z
    .string()
    .nullable()
    .describe(
      "Why months are not compared with what the provider lists, and what brings a missing event " +
        "instead; null: they are compared",
    ),
  lists_payouts: z.boolean().describe("Whether its payouts to the bank can be opened"),
  fetches_payments: z
    .boolean()
    .describe("Whether a payment that no event reports is fetched, given credentials for its API"),
  docs_path: z.string().describe("How to connect it, as text"),
});
export type ProviderView = z.infer<typeof provider>;

/** Those of an average length fit into a body. */
const backfillIdsMax = 4_000;
export const newBackfill = z.strictObject({
  from: z
    .union([z.iso.date(), timestamp])
    .describe("The first moment of history wanted: a day, or a date-time"),
  ids: z
    .array(z.string().regex(/^[!-~]{1,2048}$/))
    .max(backfillIdsMax)
    .optional()
    .describe(
      "Of a provider that lists nothing by itself: what to ask it about, beside what is booked " +
        "(`history_ids` of the provider says which ids)",
    ),
});
const backfillSums = z.object({
  count: z.int(),
  amount: z.number(),
  refunded: z.number(),
});
export const backfill = z.object({
  id: z.string(),
  from: timestamp,
  to: timestamp.describe(
    "When it was requested, or its file was written; later events arrive by webhook",
  ),
  state: z.enum(["reading", "comparing", "done", "different", "failed"]),
  list: z.string().describe("What is read, or compared, now"),
  counts: z.record(z.string(), z.int()).describe("Objects read so far, by list"),
  progress: z
    .object({
      months: z.int().describe("From `from` to `to`"),
      months_done: z
        .int()
        .nullable()
        .describe("Those the list has come through; null where it is in no order of dates"),
      list_seconds_left: z
        .int()
        .nullable()
        .describe("An estimate for the list that is read now; null while unknown"),
    })
    .nullable()
    .describe("Null once it has ended"),
  comparison: z
    .array(
      z.object({
        month: z.string().describe("YYYY-MM"),
        currency: z.string(),
        listed: backfillSums.describe("By the provider"),
        booked: backfillSums,
        same: z.boolean(),
      }),
    )
    .nullable()
    .describe("Payments of each month; null before it is compared"),
  problem: z.string().nullable().describe("Why it waits, or failed"),
  missing: historyMissing,
  updated_at: timestamp,
});
export type BackfillView = z.infer<typeof backfill>;

export const exportQuery = z.object({
  from: z
    .union([z.iso.date(), timestamp])
    .describe("Since when the file has every purchase: a day, or a date-time"),
});
export const exportReport = z.object({
  lines: z.int().describe("Of the file, without the first"),
  purchases: z.int().describe("That can be booked; several lines may be about one"),
  first: timestamp.nullable().describe("When the first of them began"),
  as_of: timestamp.nullable().describe("When the file was written, at the earliest"),
  sums: z.array(
    z.object({
      currency: z.string(),
      payments: z.int(),
      amount: z.number(),
      refunds: z.int(),
      refunded: z.number(),
    }),
  ),
  left_out: z
    .array(z.object({ why: z.string(), lines: z.int(), first_line: z.int() }))
    .describe("Lines that are not booked, by reason"),
});
export type ExportReport = z.infer<typeof exportReport>;
export const takenExport = z.object({ report: exportReport, backfill });

export const reconciliationQuery = z.object({
  from: givenMonth.optional().describe("The first month; eleven before `to` by default"),
  to: givenMonth.optional().describe("The last one; the present one by default"),
});
export const newReconciliation = z.strictObject({
  from: givenMonth.describe("The first month to compare, YYYY-MM"),
  to: givenMonth.optional().describe("The last one; the present one by default"),
});
export const reconciliation = z.object({
  from: z.string(),
  to: z.string(),
  score_pct: z
    .number()
    .nullable()
    .describe(
      "Of all months that were compared; of several currencies, smallest units count alike",
    ),
  months_compared: z.int().describe("Of `months`"),
  months: z
    .array(
      z.object({
        month: z.string().describe("YYYY-MM, in UTC"),
        state: z
          .enum(["none", "waiting", "done", "failed"])
          .describe("none: nobody asked for it. A report that is there is the one found last"),
        problem: z.string().nullable().describe("Why it waits, or failed"),
        compared_at: timestamp.nullable(),
        report: monthReport.nullable(),
      }),
    )
    .describe("In order of time"),
  not_compared: z.array(z.string()).describe("What the lists cannot show, in sentences"),
});
export type ReconciliationView = z.infer<typeof reconciliation>;

export const knownBy = z.enum(["webhook", "api", "export", "report", "none"]);

export const coverage = z.object({
  months: z
    .array(
      z.object({
        month: z.string().describe("YYYY-MM, in UTC"),
        known_by: knownBy.describe(
          "How its money is known: by webhooks, from the month after the first call; by the " +
            "provider's API or its export, where a backfill has read the whole month; by its " +
            "report; or not in whole",
        ),
      }),
    )
    .describe("Since the earliest of anything, in order of time"),
  unread_until: timestamp
    .nullable()
    .describe("Of what happened before it, not all is known; null: all is, or no webhook came yet"),
});
export type CoverageView = z.infer<typeof coverage>;

const sku = z.strictObject({
  provider: z.enum(providerTokens),
  external_id: z.string().min(1).max(500),
});
const skusMax = 1_000;
export const productsQuery = z.object({ ...pageQuery, environment: writtenEnvironment.optional() });
export const changedProduct = z.strictObject({
  name: name.optional(),
  category: z.enum(categories).nullable().optional().describe("Null: as its providers say"),
  skus: z
    .array(sku)
    .min(1)
    .max(skusMax)
    .optional()
    .describe(
      "All SKUs of the product: added ones move here, removed ones become products of their own",
    ),
});
export type ChangedProduct = z.infer<typeof changedProduct>;
export const mergedProducts = z.strictObject({ from: z.array(z.string()).min(1).max(100) });
export const managedProduct = z.object({
  id: z.string(),
  name: z.string(),
  slug: z.string().describe("Made from the name; of its SKU's id until a provider names it"),
  category: z.enum(categories).nullable(),
  environment: manageEnvironment,
  skus: z.array(z.object({ provider: z.string(), external_id: z.string() })),
  created_at: timestamp,
});
export type ManagedProduct = z.infer<typeof managedProduct>;
export const mergedProduct = managedProduct.extend({
  activity: z.string().describe("Its row in the activity list, by which the merge can be undone"),
});
export type MergedProduct = z.infer<typeof mergedProduct>;

export const rejectStates = ["open", "replayed", "resolved"] as const;
export const rejectsQuery = z.object({
  ...pageQuery,
  state: z.enum(rejectStates).optional().meta({ default: "open" }),
  reason: z.string().min(1).max(100).optional(),
  provider: z.enum(providerTokens).optional(),
});
export const reject = z.object({
  id: z.string().describe("The raw event: evt_norm_…"),
  provider: z.string(),
  environment: manageEnvironment,
  native_type: z.string(),
  received_at: timestamp,
  step: z.string(),
  reason: z.string(),
  detail: z.string(),
  state: z.enum(rejectStates),
});
export type RejectView = z.infer<typeof reject>;
export const replayRequest = z.strictObject({
  ids: z.array(z.string()).min(1).max(1_000).optional(),
  reason: z.string().min(1).max(100).optional(),
  provider: z.enum(providerTokens).optional(),
});
export const replayAnswer = z.object({
  replayed: z.int().describe("Put back on the raw topic"),
  missing: z.int().describe("Whose raw record retention has removed, or is not as it was sealed"),
  more: z.boolean().describe("More of them remain open: call again"),
});
export type ReplayAnswer = z.infer<typeof replayAnswer>;

export const attentionQuery = z.object({
  environment: writtenEnvironment.optional().meta({ default: "live" }),
});
export const attention = z
  .object({
    rejects: z
      .array(
        z.object({
          provider: z.string(),
          reason: z.string(),
          step: z.string().describe("`enrich`: the events are booked, but lack a name or a fee"),
          events: z.int(),
          last_received_at: timestamp,
          integration: z.string().nullable().describe("Null: several it may be, or none"),
        }),
      )
      .describe("Open ones, most events first"),
    rates: z
      .array(
        z.object({
          source: z.enum(["ecb", "wide"]),
          newest_day: z.iso.date().nullable(),
        }),
      )
      .describe("Older than 5 days, of sources that payments of the last 30 days needed"),
    integrations: z
      .array(
        z.object({
          id: z.string(),
          provider: z.string(),
          name: z.string().nullable(),
          state: z
            .enum(["refused", "incomplete", "quiet", "waiting"])
            .describe(
              "As `health.state`; waiting: no call since it was connected, a day ago or more",
            ),
          since: timestamp.describe("Its last call, or when it was connected"),
          refused_reason: z.string().nullable(),
        }),
      )
      .describe("Whose last call was refused, that lack event types, or that are silent"),
    history: z
      .array(
        z.object({
          id: z.string(),
          provider: z.string(),
          name: z.string().nullable(),
          unread_until: timestamp,
        }),
      )
      .describe("Integrations whose history can be read and is not read in whole"),
    webhooks: z
      .array(
        z.object({
          id: z.string(),
          host: z.string(),
          disabled_by: z.enum(["failing", "gone", "too_many"]),
          since: timestamp,
        }),
      )
      .describe("Endpoints of webhooks that were disabled, because they took nothing"),
  })
  .describe("What keeps figures from being whole; up to a few seconds old");
export type AttentionView = z.infer<typeof attention>;

export const newAudit = z.strictObject({
  workspace: z.string().optional().describe("Left out: every workspace"),
});
export const auditRecord = z.object({
  id: z.string(),
  asked_by: z.enum(["night", "administrator", "command"]),
  workspace: z.string().nullable(),
  state: z.enum(["waiting", "running", "clean", "different", "failed"]),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  rows_compared: z.int(),
  differences: z.int().describe("Rows that are not as they should be"),
  findings: z.array(auditFinding).describe("Where anything differs"),
  failure: z.string().nullable().describe("Why it failed"),
});
export type AuditView = z.infer<typeof auditRecord>;
export const auditList = listAnswer(auditRecord).extend({
  overdue: z.boolean().describe("No full audit has ended for 26 hours"),
});

export const ratesOfSource = z.object({
  source: z.enum(["ecb", "wide"]).describe("The ECB, or the wide list for other currencies"),
  newest_day: z.iso.date().nullable(),
  age_days: z.int().nullable().describe("Whole days since then; null before the first"),
  stale: z.boolean().describe("Older than 5 days"),
});
export type RatesView = z.infer<typeof ratesOfSource>;

export const newBackup = z.strictObject({
  to: z.string().min(1).describe("A folder on the service's machine; made when absent"),
  keep: z.int().min(1).max(9_999).optional().describe("How many backups to keep. Default: all"),
  with_key: z.boolean().optional().describe("The vault key goes in, too"),
});
export const backup = z.object({
  to: z.string(),
  state: z.enum(["running", "done", "failed"]),
  started_at: timestamp,
  ended_at: timestamp.nullable(),
  path: z.string().nullable().describe("The new backup, once it is whole"),
  bytes: z.int().nullable(),
  problem: z.string().nullable().describe("Why it failed"),
});
export type BackupView = z.infer<typeof backup>;

export const demo = z.object({
  state: z
    .enum(["elsewhere", "none", "starting", "ready", "failed"])
    .describe("`elsewhere`: it can be started only on the machine of an embedded service"),
  said: z.string().nullable().describe("How far it is, or why it failed"),
  url: z.url().nullable().describe("Signs in once, within an hour; in the answer to POST only"),
});
export type DemoView = z.infer<typeof demo>;
