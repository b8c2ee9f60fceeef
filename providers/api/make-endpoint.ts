/** Makes a webhook endpoint at a provider, for a person who waits for it: one try. */
import type { Config } from "../../config.js";
import type { EndpointMaker, ProviderToken } from "../provider.js";
import { ApiRefusal, callApi } from "./call.js";
import { apiUrl } from "./provider-api.js";

const answerMsMax = 20_000;
const answerBytesMax = 1024 * 1024;

export type EndpointMade =
  | { readonly outcome: "made"; readonly credentials: unknown }
  /** The key is wrong, or may not do it. */
  | { readonly outcome: "key_refused"; readonly status: 401 | 403 }
  /** The provider's own words; null: it gave none. */
  | { readonly outcome: "refused"; readonly why: string | null };

/**
 * @param given.url of the webhook
 * @throws ApiTrouble: it may work later
 */
export async function makeEndpoint(
  config: Config,
  token: ProviderToken,
  maker: EndpointMaker<unknown>,
  given: { readonly url: string; readonly key: string },
): Promise<EndpointMade> {
  const { path, headers, form } = maker.request(given.url, given.key);
  const url = (apiUrl(config, token) ?? maker.baseUrl) + path;
  const bounds = {
    answerMsMax,
    bytesMax: answerBytesMax,
    signal: AbortSignal.timeout(answerMsMax),
    readsRefusals: true,
  };
  try {
    const text = await callApi(url, { method: "POST", headers, body: form }, bounds);
    const credentials = text === null ? null : maker.credentialsOf(parsed(text), given.key);
    if (credentials === null) return { outcome: "refused", why: null };
    return { outcome: "made", credentials };
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const { status } = error;
    if (status === 401 || status === 403) return { outcome: "key_refused", status };
    return { outcome: "refused", why: maker.refusalOf(parsed(error.text)) };
  }
}

/** Null where it is no JSON. */
function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}
