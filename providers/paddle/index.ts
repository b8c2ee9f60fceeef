/**
 * Paddle Billing (not Classic): merchant of record. What each type means stands in decode.ts;
 * docs/providers/paddle.md is the page for merchants.
 */
import { z } from "zod";
import { compiled } from "../fields.js";
import { bearerApi, type TimedScheme, timedSignatures } from "../signatures.js";
import type { Provider } from "../provider.js";
import { customers, decode, keeps, knownTypes, neededTypes } from "./decode.js";
import { paddleBackfill } from "./history/backfill.js";
import { paddlePayouts } from "./history/payouts.js";
import { asks, needs } from "./questions.js";

const credentials = z.strictObject({
  signing_secret: z.string().trim().min(1),
  api_key: z.string().trim().min(1).optional(),
  api_environment: z.enum(["production", "live", "sandbox"]).optional(),
});
export type PaddleCredentials = z.output<typeof credentials>;

const productionUrl = "https://api.paddle.com";
const fileHost = "reports.paddle.com";
const sandboxUrl = "https://sandbox-api.paddle.com";
/** Of a sandbox account; live ones begin with `pdl_live_`, those made before 2025 with neither. */
const sandboxKeyPrefix = "pdl_sdbx_";
const reportRefused =
  /concurrent_report_generation_not_allowed|report_(creation_limit_exceeded|expired|not_ready)/;
/** Events and notifications of Paddle's webhook simulator. */
const simulated = /^ntfsim/;

/**
 * @param settings.toleranceSeconds how old a signature may be; Paddle's libraries use 5
 * @param settings.fileHosts hosts of reports beside the one that its documentation names
 */
export function createPaddle(settings: {
  readonly toleranceSeconds: number;
  readonly fileHosts?: readonly string[] | undefined;
}): Provider<PaddleCredentials> {
  return {
    token: "paddle",
    separatesEnvironments: true,
    credentials,
    credentialHelp: {
      signing_secret:
        "Paddle > Developer tools > Notifications > your destination > Secret key (pdl_ntfset_…)",
      api_key:
        "Optional. Paddle > Developer tools > Authentication: an API key that may read customers " +
        "(addresses), products and discounts; for history also subscriptions, transactions and " +
        "adjustments, metrics for Paddle's own figures beside ours, and reports (write) for " +
        "payouts",
      api_environment:
        "Optional. production or sandbox; reported by the API key when it begins with pdl_",
    },
    subscribeTo: knownTypes,
    neededTypes,
    ...timedSignatures(signature, settings.toleranceSeconds),
    heading: (body) => {
      const parsed = headingShape.safeParse(body);
      if (!parsed.success) return null;
      const { event_id: id, notification_id: notification, event_type: type, data } = parsed.data;
      return {
        nativeId: id,
        nativeType: type,
        // Sandboxes are accounts of their own and say nothing; the simulator works in both.
        sandbox: simulated.test(id) || simulated.test(notification ?? "") ? true : null,
        accountHint: data.customer_id ?? data.id ?? null,
      };
    },
    keeps,
    needs,
    asks,
    api: bearerApi({
      baseUrl: ({ api_key: key, api_environment: environment }) => {
        const isSandbox = environment === undefined && key?.startsWith(sandboxKeyPrefix) === true;
        return isSandbox || environment === "sandbox" ? sandboxUrl : productionUrl;
      },
      keyOf: ({ api_key: key }) => key,
      headers: { "paddle-version": "1" },
      // 240 a minute for one address: developer.paddle.com, rate limiting.
      requestsPerSecond: 4,
      limitsAddress: true,
      // No report is made, or had, for now.
      meaningOf: (status, text) => (status === 400 && reportRefused.test(text) ? "absent" : null),
    }),
    backfill: paddleBackfill,
    payouts: { ...paddlePayouts, fileHosts: [fileHost, ...(settings.fileHosts ?? [])] },
    decode,
    customers,
    customerUrl: ({ id }, environment) =>
      `https://${environment === "test" ? "sandbox-" : ""}vendors.paddle.com/customers-v2/` +
      encodeURIComponent(id),
    unsupportedForm: (form) => (classicShape.safeParse(form).success ? classic : null),
    // The ingest endpoint does not take Paddle (`definitions.md`, Ingest).
    flatTypes: {},
  };
}

/** Paddle Classic posts forms, and signs them with a key of its own kind. */
const classicShape = z.object({ alert_name: z.string(), p_signature: z.string() });
const classic = {
  code: "paddle_classic_unsupported",
  message: "Paddle Classic is not supported, only Paddle Billing.",
};

const hint = z.string().optional().catch(undefined);
const headingShape = compiled(
  z.object({
    event_id: z.string().min(1),
    event_type: z.string().min(1),
    notification_id: hint,
    data: z.object({ id: hint, customer_id: hint }),
  }),
);

/**
 * `Paddle-Signature: ts=<unix s>;h1=<hex>[;h1=<hex>…]`, HMAC-SHA256 over `<ts>:<raw body>` with the
 * destination's secret as it stands (`pdl_ntfset_…`). Source: developer.paddle.com (signature
 * verification), paddle-node-sdk `webhooks-validator.ts`. That SDK keeps only the last `h1` and
 * refuses half of a rotation, accepts any future `ts`, and compares with `===`: so this is our own.
 */
const signature: TimedScheme = {
  header: "paddle-signature",
  separator: ";",
  time: "ts",
  digest: "h1",
  joint: ":",
};
