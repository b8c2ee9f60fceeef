import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { createdKey, key as keyShape, newKey, rolledKey } from "../../schemas/http/manage.js";
import { type KeyRecord, createKey, listKeys, revokeKey, rollKey } from "../../workspaces/keys.js";
import { ofWorkspace } from "./calls.js";
import { shownEnvironment, storedEnvironment } from "./environments.js";

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

export const keyRoutes = [
  ofWorkspace.post(path, "Make an API key", {
    right: "manage",
    action: "key.created",
    body: newKey,
    answer: createdKey,
    async run({ postgres, of, body: { environment, scope, name = null, expires_at: until } }) {
      const expires_at = until === undefined ? null : new Date(until);
      if (expires_at !== null && expires_at.getTime() <= Date.now()) {
        throw unprocessable("expires_at_past", "expires_at must be in the future.", "expires_at");
      }
      if (expires_at !== null && expires_at.getUTCFullYear() > yearMax) {
        const message = "expires_at must be before 10000.";
        throw unprocessable("expires_at_too_late", message, "expires_at");
      }
      const given = { environment: storedEnvironment(environment), scope, name, expires_at };
      const { key, record } = await createKey(postgres, of.id, given, new Date());
      // The only time the key itself is shown.
      return { ...keyView(record), key };
    },
  }),
  ofWorkspace.list(path, "API keys, masked", {
    right: "look",
    row: keyShape,
    read: ({ postgres, of }, page) => listKeys(postgres, of.id, page),
    view: keyView,
  }),
  ofWorkspace.post(`${path}/{key}/roll`, "Replace a key", {
    right: "manage",
    action: "key.rolled",
    body: rolledKey,
    answer: createdKey,
    errors: [409],
    async run({ keys, postgres, ctx, of, body: { old_valid_for: overlap } }) {
      const id = String(ctx.params.key);
      const made = await rollKey(postgres, of.id, id, overlapMs[overlap], new Date());
      if (made === null) throw notFound("key_unknown", "There is no such key.");
      if (made === "ended") throw conflict("key_ended", "This key has ended; make a new one.");
      // This process sees the old key's end at once, others within 5 s.
      keys.forget();
      return { ...keyView(made.record), key: made.key };
    },
  }),
  ofWorkspace.delete(`${path}/{key}`, "Revoke a key", {
    right: "manage",
    action: "key.revoked",
    answer: keyShape,
    async run({ keys, postgres, ctx, of }) {
      const revoked = await revokeKey(postgres, of.id, String(ctx.params.key), new Date());
      if (revoked === null) throw notFound("key_unknown", "There is no such key.");
      // This process sees it at once, others within 5 s.
      keys.forget();
      return keyView(revoked);
    },
  }),
];

function keyView(row: KeyRecord) {
  return { ...row, environment: shownEnvironment(row.environment) };
}
