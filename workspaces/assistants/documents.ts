/**
 * Programs whose id is the address of a document that says who they are: Client ID Metadata
 * Documents (draft-ietf-oauth-client-id-metadata-document), as the Model Context Protocol asks.
 */
import { type Config, limits } from "../../config.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { clientDocument } from "../../schemas/http/assistants.js";
import { CallFailed, get } from "../channels/outbound.js";
import { type OAuthClient, plainName } from "./clients.js";

type Settings = Pick<Config, "OUTBOUND_PRIVATE_ADDRESSES">;

/** Written as browsers write it, so that nobody has two ids; with a path, and nothing to hide. */
export function isDocumentAddress(id: string): boolean {
  if (!URL.canParse(id)) return false;
  const { protocol, href, pathname, hash, username, password } = new URL(id);
  const isPlain = href === id && hash === "" && username === "" && password === "";
  return protocol === "https:" && isPlain && pathname !== "/";
}

/** @returns finds one by its address, or throws CallFailed: there is no such document */
export function clientDocuments(config: Settings): (id: string) => Promise<OAuthClient> {
  const known = new ExpiringCache<{ readonly client: OAuthClient; readonly keptMs: number }>({
    entriesMax: limits.oauthDocumentsKeptMax,
    ttlMs: limits.oauthDocumentMsMin,
    ttlMsOf: ({ keptMs }) => keptMs,
    async load(id) {
      const { body, headers } = await get(config, id);
      const seconds = /(?:^|[\s,])max-age=(\d{1,9})/i.exec(headers["cache-control"] ?? "")?.[1];
      const { oauthDocumentMsMin: least, oauthDocumentMsMax: most } = limits;
      const keptMs = Math.min(Math.max(Number(seconds ?? 0) * 1_000, least), most);
      return { client: clientIn(body, id), keptMs };
    },
  });
  return async (id) => (await known.get(id)).client;
}

function clientIn(body: string, id: string): OAuthClient {
  let read: unknown;
  try {
    read = JSON.parse(body);
  } catch {
    throw new CallFailed("It is not JSON.");
  }
  const { success, data } = clientDocument.safeParse(read);
  if (!success) throw new CallFailed("It lacks client_id, client_name or redirect_uris.");
  if (data.client_id !== id) throw new CallFailed("It has another client_id.");
  const name = plainName(data.client_name) || new URL(id).host;
  return { id, name, redirect_uris: data.redirect_uris };
}
