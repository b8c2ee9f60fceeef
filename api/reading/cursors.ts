/**
 * Opaque cursors: what a client hands back unchanged. Signed with a key derived from the vault
 * key, and bound to what they were made for, so that a cursor that was tampered with, or belongs
 * to another workspace, environment or endpoint, is refused and never half-believed.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { z } from "zod";
import { type ApiError, malformed } from "../../schemas/http/errors.js";
import type { Vault } from "../../stores/vault/vault.js";

/** Base64url of signature and JSON text. */
export interface Cursors {
  /** @param scope what the cursor is good for: endpoint, workspace, environment */
  write(scope: readonly string[], value: unknown): string;
  /** @throws ApiError 400 `cursor_invalid` */
  read<T>(scope: readonly string[], text: string, schema: z.ZodType<T>, param?: string): T;
}

const signatureBytes = 16;

export function createCursors(vault: Pick<Vault, "deriveKey">): Cursors {
  const key = vault.deriveKey("cursors");

  function sign(scope: readonly string[], json: Buffer): Buffer {
    // As a JSON array, so that no two lists of names make the same text.
    const hmac = createHmac("sha256", key).update(JSON.stringify(scope)).update("\n").update(json);
    return hmac.digest().subarray(0, signatureBytes);
  }

  return {
    write(scope, value) {
      const json = Buffer.from(JSON.stringify(value));
      return Buffer.concat([sign(scope, json), json]).toString("base64url");
    },
    read(scope, text, schema, param = "cursor") {
      const bytes = Buffer.from(text, "base64url");
      const json = bytes.subarray(signatureBytes);
      // Base64url has several spellings of the same bytes; only ours is one of our cursors.
      const isOurs =
        bytes.length > signatureBytes &&
        bytes.toString("base64url") === text &&
        timingSafeEqual(bytes.subarray(0, signatureBytes), sign(scope, json));
      if (!isOurs) throw cursorInvalid(param);
      // Signed, but perhaps by another version of this service.
      const result = schema.safeParse(JSON.parse(json.toString()));
      if (!result.success) throw cursorInvalid(param);
      return result.data;
    },
  };
}

export function cursorInvalid(param = "cursor"): ApiError {
  return malformed("cursor_invalid", "This cursor is not of this list; start again.", param);
}
