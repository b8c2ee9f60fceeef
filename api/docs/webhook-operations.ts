/** The operations about outgoing webhooks, by their paths below a workspace. */
import { dataAnswer, listAnswer, listQuery, rolledKey } from "../../schemas/http/manage.js";
import * as hooks from "../../schemas/http/outbound/webhooks.js";
import type { Operation } from "./operation.js";

const shared = {
  tag: "Management",
  security: "administrator",
  method: "post",
  status: 201,
  errors: [404, 413, 415, 422],
} as const;
const path = "/v1/manage/webhooks";
const one = `${path}/{endpoint}`;
const deliveries = `${one}/deliveries`;
const endpoint = dataAnswer(hooks.webhookEndpoint);
const withSecret = dataAnswer(hooks.webhookEndpointWithSecret);
const delivery = dataAnswer(hooks.webhookDelivery);
const got = { ...shared, method: "get", status: 200, errors: [404] } as const;

export const webhookOperations: readonly Operation[] = [
  {
    ...shared,
    path,
    summary: "Make a webhook endpoint",
    body: hooks.newWebhookEndpoint,
    answer: withSecret,
    errors: [...shared.errors, 409],
  },
  {
    ...got,
    path,
    summary: "Webhook endpoints",
    query: listQuery,
    answer: listAnswer(hooks.webhookEndpoint),
  },
  {
    ...shared,
    method: "patch",
    path: one,
    summary: "Change, disable or enable an endpoint",
    body: hooks.changedWebhookEndpoint,
    status: 200,
    answer: endpoint,
  },
  {
    ...got,
    method: "delete",
    path: one,
    summary: "Delete it and its deliveries",
    answer: endpoint,
  },
  {
    ...shared,
    path: `${one}/secret`,
    summary: "Replace its secret",
    body: rolledKey,
    answer: withSecret,
  },
  { ...shared, path: `${one}/test`, summary: "Send a test", answer: delivery, errors: [404, 409] },
  {
    ...got,
    path: deliveries,
    summary: "Its deliveries",
    query: hooks.deliveriesQuery,
    answer: listAnswer(hooks.webhookDelivery),
  },
  {
    ...shared,
    path: `${deliveries}/replay`,
    summary: "Send deliveries since a time again",
    body: hooks.replayedDeliveries,
    status: 200,
    answer: dataAnswer(hooks.replayedCount),
    errors: [...shared.errors, 409],
  },
  {
    ...shared,
    path: `${deliveries}/{delivery}/replay`,
    summary: "Send one again",
    status: 200,
    answer: delivery,
    errors: [404, 409],
  },
];
