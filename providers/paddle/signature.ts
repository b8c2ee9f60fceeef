/**
 * `Paddle-Signature: ts=<unix s>;h1=<hex>[;h1=<hex>…]`, HMAC-SHA256 over `<ts>:<raw body>` with the
 * destination's secret as it stands (`pdl_ntfset_…`). Source: developer.paddle.com (signature
 * verification), paddle-node-sdk `webhooks-validator.ts`. That SDK keeps only the last `h1` and
 * refuses half of a rotation, accepts any future `ts`, and compares with `===`: so this is our own.
 */
import type { TimedScheme } from "../signatures.js";

export const signature: TimedScheme = {
  header: "paddle-signature",
  separator: ";",
  time: "ts",
  digest: "h1",
  joint: ":",
};
