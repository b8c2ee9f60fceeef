/** What an integration with the App Store is given. Webhooks need no secret: Apple signs. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { z } from "zod";
import { together } from "../fields.js";

const rootsMax = 8;

const rootCertificate = z
  .string()
  .max(16_384)
  .transform((text) => Buffer.from(text, "base64"))
  .refine(isAuthority, "must be a root certificate, DER in base64")
  .transform((der) => der.toString("base64"));

const keyFile = z
  .string()
  .max(16_384)
  .transform(withLines)
  .refine(isApiKey, "must be the whole .p8 file: a private key in PEM, over P-256");

const credentialFields = z.strictObject({
  bundle_id: z.string().trim().min(1).max(255),
  app_apple_id: z
    .union([
      z.int().positive(),
      z
        .string()
        .trim()
        .regex(/^[1-9]\d{0,14}$/)
        .transform(Number),
    ])
    .optional(),
  root_certificates: z.array(rootCertificate).min(1).max(rootsMax).optional(),
  issuer_id: z.string().trim().min(1).max(255).optional(),
  key_id: z.string().trim().min(1).max(255).optional(),
  private_key: keyFile.optional(),
  vendor_number: z
    .string()
    .trim()
    .regex(/^\d{4,12}$/)
    .optional(),
  reports_issuer_id: z.string().trim().min(1).max(255).optional(),
  reports_key_id: z.string().trim().min(1).max(255).optional(),
  reports_private_key: keyFile.optional(),
});

export const credentials = credentialFields
  .superRefine(together("issuer_id", "key_id", "private_key"))
  .superRefine(
    together("vendor_number", "reports_issuer_id", "reports_key_id", "reports_private_key"),
  );
export type AppleCredentials = z.output<typeof credentials>;

export const credentialHelp = {
  bundle_id: "App Store Connect > Apps > your app > App Information > Bundle ID (com.example.app)",
  app_apple_id:
    "Recommended. App Store Connect > Apps > your app > App Information > Apple ID (a number): " +
    "production notifications of any other app are refused",
  root_certificates:
    "Leave out: Apple Root CA - G3 is built in. Other roots to trust instead, DER in base64, for " +
    "tests with a chain of your own",
  issuer_id:
    "Optional: reads your history. App Store Connect > Users and Access > Integrations > In-App " +
    "Purchase: the Issuer ID above the keys",
  key_id: "Optional: the same page, the Key ID of an In-App Purchase key",
  private_key:
    "Optional: the whole .p8 file of that key. App Store Connect lets you download it once. " +
    "Issuer ID, key ID and file come together",
  vendor_number:
    "Optional: fetches monthly reports, with the three below. App Store Connect > Payments and " +
    "Financial Reports: the number beside your name",
  reports_issuer_id:
    "Optional: App Store Connect > Users and Access > Integrations > App Store Connect API > " +
    "Team Keys: the Issuer ID above the keys",
  reports_key_id:
    "Optional: the same page, the Key ID of a team key with the access Finance. With Sales alone " +
    "there are no financial reports",
  reports_private_key: "Optional: the whole .p8 file of that key. All four come together",
};

function isAuthority(der: Buffer): boolean {
  try {
    return new X509Certificate(der).ca;
  } catch {
    return false;
  }
}

/** A form's field of one line takes a file's line breaks away; without them it is no PEM. */
function withLines(pem: string): string {
  const [, begin, base64 = "", end] =
    /(-{5}BEGIN [A-Z ]+-{5})(.*)(-{5}END [A-Z ]+-{5})/s.exec(pem) ?? [];
  const lines = base64.replaceAll(/\s/g, "").match(/.{1,64}/g) ?? [];
  return begin === undefined ? pem : [begin, ...lines, end, ""].join("\n");
}

function isApiKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === "prime256v1";
  } catch {
    return false;
  }
}
