/**
 * Apple: App Store Server Notifications, version 2. What each type means stands in decode.ts;
 * docs/providers/apple.md is the page for merchants.
 */
import { z } from "zod";
import { compiled, idText } from "../fields.js";
import type { Provider } from "../provider.js";
import { appleApi } from "./api.js";
import { VerifiedChains } from "./chain.js";
import { type AppleCredentials, credentialHelp, credentials } from "./credentials.js";
import { decode, knownTypes, neededTypes } from "./decode.js";
import { appleBackfill } from "./history/backfill.js";
import { type Signer, signNotification } from "./jws.js";
import { appOf, readNotification, transactionIn } from "./notification.js";
import { appStoreConnect } from "./api.js";
import { appStoreReports } from "./reports.js";
import { verifySignature } from "./signature.js";

export function createApple(): Provider<AppleCredentials, Signer> {
  const chains = new VerifiedChains();
  return {
    token: "apple",
    reportsBothEnvironments: true,
    credentials,
    credentialHelp,
    subscribeTo: knownTypes,
    neededTypes,
    verify: (delivery, given) => verifySignature(delivery, given, chains),
    sign: (body, signer) => ({
      headers: { "content-type": "application/json" },
      body: signNotification(body, signer),
    }),
    heading: (body) => {
      const read = readNotification(body);
      if (!read.success) return null;
      const { notificationUUID, notificationType } = read.data;
      const app = appOf(read.data);
      const transaction = hintShape.safeParse(transactionIn(read.data));
      return {
        nativeId: notificationUUID,
        nativeType: notificationType,
        sandbox: app === null ? null : app.environment !== "Production",
        accountHint: transaction.success ? transaction.data.originalTransactionId : null,
      };
    },
    api: appleApi,
    backfill: appleBackfill,
    notReconciled:
      "The App Store lists no payments: a missing one is read by its original transaction id " +
      "with the history, and monthly reports are compared as sums.",
    reports: appStoreReports,
    fetchedReports: appStoreConnect,
    decode,
    flatTypes: {
      SUBSCRIBED: "subscription.new",
      DID_RENEW: "transaction.sale",
      ONE_TIME_CHARGE: "transaction.sale",
      REFUND: "transaction.refund",
      EXPIRED: "subscription.churn",
    },
  };
}

const hintShape = compiled(z.object({ originalTransactionId: idText }));
