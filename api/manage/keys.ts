import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { createKey, listKeys, revokeKey, rollKey } from "../../workspaces/key-records.js";
import type { Service } from "../../service.js";
import { newKey, rolledKey } from "../../schemas/http/manage.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "./calls.js";
import { keyView, storedEnvironment } from "./views.js";

const path = "/keys";
/** An offset can move a date of four digits beyond them, which no store can hold. */
const yearMax = 9_999;
const hourMs = 60 * 60 * 1000;
export const overlapMs = {
  none: 0,
  "1h": hourMs,
  "24h": 24 * hourMs,
  "7d": 7 * 24 * hourMs,
} as const;

export function keyRoutes({ keys, postgres }: Service, calls: Calls<Workspace>): void {
  const created = { right: "manage", action: "key.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, workspace) => {
    const given = readJson(ctx, newKey);
    const expiresAt = given.expires_at === undefined ? null : new Date(given.expires_at);
    if (expiresAt !== null && expiresAt.getTime() <= Date.now()) {
      throw unprocessable("expires_at_past", "expires_at must be in the future.", "expires_at");
    }
    if (expiresAt !== null && expiresAt.getUTCFullYear() > yearMax) {
      throw unprocessable("expires_at_too_late", "expires_at must be before 10000.", "expires_at");
    }
    const { key, record } = await createKey(
      postgres,
      workspace.id,
      {
        environment: storedEnvironment(given.environment),
        scope: given.scope,
        name: given.name ?? null,
        expires_at: expiresAt,
      },
      new Date(),
    );
    // The only time the key itself is shown.
    return { ...keyView(record), key };
  });

  const rolled = { right: "manage", action: "key.rolled", status: 201 } as const;
  calls.write("POST", `${path}/:key/roll`, rolled, async (ctx, workspace) => {
    const { old_valid_for: overlap } = readJson(ctx, rolledKey);
    const id = String(ctx.params.key);
    const made = await rollKey(postgres, workspace.id, id, overlapMs[overlap], new Date());
    if (made === null) throw notFound("key_unknown", "There is no such key.");
    if (made === "ended") throw conflict("key_ended", "This key has ended; make a new one.");
    // This process sees the old key's end at once, others within 5 s.
    keys.forget();
    return { ...keyView(made.record), key: made.key };
  });

  calls.list(path, "look", ({ id }, page) => listKeys(postgres, id, page), keyView);

  const revoke = { right: "manage", action: "key.revoked" } as const;
  calls.write("DELETE", `${path}/:key`, revoke, async (ctx, workspace) => {
    const revoked = await revokeKey(postgres, workspace.id, String(ctx.params.key), new Date());
    if (revoked === null) throw notFound("key_unknown", "There is no such key.");
    // This process sees it at once, others within 5 s.
    keys.forget();
    return keyView(revoked);
  });
}
