/** Looks for integrations that fell silent, or whose calls are refused, and announces each. */
import { tryExclusively } from "../../stores/postgres/leases.js";
import type { Service } from "../../service.js";
import { announce } from "../../workspaces/webhooks/announce.js";
import type { Endpoint } from "../../workspaces/webhooks/endpoints.js";
import { silentIntegrations } from "../manage/attention.js";

const lookEveryMs = 10 * 60 * 1000;

type Needs = Pick<Service, "config" | "logger" | "postgres" | "vault">;

export function watchSilence(service: Needs & Pick<Service, "releases">): void {
  const { logger, postgres, releases } = service;
  const look = (): void => {
    tryExclusively(postgres, "silent integrations", () =>
      announceSilence(service, Date.now()),
    ).catch((err: unknown) => logger.warn({ err }, "silent integrations could not be looked for"));
  };
  const timer = setInterval(look, lookEveryMs).unref();
  releases.push("watch over silence", () => clearInterval(timer));
}

/**
 * Each once: a second announcement sends nothing.
 * @param now ms since 1970
 */
export async function announceSilence(service: Needs, now: number): Promise<void> {
  const type = "integration.silent";
  const tenants = await service.postgres.query<Pick<Endpoint, "workspace" | "environment">>(
    `SELECT DISTINCT workspace, environment FROM webhook_endpoints
     WHERE disabled_at IS NULL AND $1 = ANY(events)`,
    [type],
  );
  for (const tenant of tenants) {
    for (const one of await silentIntegrations(service.postgres, tenant, now)) {
      const { id: integration, provider, name, state, since } = one;
      const at = new Date(now);
      // While calls are refused the last one changes all the time, so it is announced once a day.
      const id = `${integration} ${state} ${since.slice(0, "YYYY-MM-DD".length)}`;
      const data = { integration, provider, name, state, since };
      await announce(service, { ...tenant, type, id, subject: { provider }, at, data });
    }
  }
}
