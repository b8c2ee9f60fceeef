/**
 * Answers calls to the ingest endpoints in a process without the role `ingest`: the caller used the
 * wrong port.
 */
import type Router from "@koa/router";
import { notFound } from "../schemas/http/errors.js";

export function refuseIngest(router: Router): void {
  const report = (): never => {
    throw notFound("role_elsewhere", "This process does not run the role ingest.");
  };
  router.post("/v1/webhooks/:token", report);
  router.post("/v1/events/ingest", report);
}
