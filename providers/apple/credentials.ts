/** What an integration with the App Store is given. Nothing of it is secret: Apple signs. */
import { X509Certificate } from "node:crypto";
import { z } from "zod";

const rootsMax = 8;

const rootCertificate = z
  .string()
  .max(16_384)
  .transform((text) => Buffer.from(text, "base64"))
  .refine(isAuthority, "must be a root certificate, DER in base64")
  .transform((der) => der.toString("base64"));

export const credentials = z.strictObject({
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
});
export type AppleCredentials = z.output<typeof credentials>;

export const credentialHelp = {
  bundle_id: "App Store Connect > Apps > your app > App Information > Bundle ID (com.example.app)",
  app_apple_id:
    "Recommended. App Store Connect > Apps > your app > App Information > Apple ID (a number): " +
    "production notifications of any other app are refused",
  root_certificates:
    "Leave out: Apple Root CA - G3 is built in. Other roots to trust instead, DER in base64, for " +
    "tests with a chain of your own",
};

function isAuthority(der: Buffer): boolean {
  try {
    return new X509Certificate(der).ca;
  } catch {
    return false;
  }
}
