/** Makes the webhook endpoint at the provider with an API key. */
import type { Config } from "../../../config.js";
import { conflict, unavailable, unprocessable } from "../../../schemas/http/errors.js";
import { ApiTrouble } from "../../../providers/api/call.js";
import { type EndpointMade, makeEndpoint } from "../../../providers/api/make-endpoint.js";
import type { Provider } from "../../../providers/provider.js";
import type { IntegrationRecord } from "../../../workspaces/integration-records.js";

/**
 * @returns the credentials to keep
 * @throws ApiError with what to do
 */
export async function endpointMade(
  config: Config,
  { endpoint: maker, token }: Provider,
  integration: Pick<IntegrationRecord, "environment" | "credentials_set">,
  given: { readonly url: string; readonly key: string },
): Promise<unknown> {
  if (maker === undefined) {
    throw unprocessable("endpoint_unsupported", `Add the endpoint at ${token} by hand.`);
  }
  if (integration.credentials_set.length > 0) {
    throw conflict("endpoint_known", "This integration has its credentials already.");
  }
  const { environment } = integration;
  if ((maker.environmentOf(given.key) ?? environment) !== environment) {
    const wanted = environment === "live" ? "live mode" : "test mode";
    throw unprocessable("api_key_environment", `This integration needs a key of ${wanted}.`, param);
  }
  const made = await withTrouble(token, makeEndpoint(config, token, maker, given));
  if (made.outcome === "made") return made.credentials;
  if (made.outcome === "key_refused") throw keyRefused(token, made.status);
  const why = made.why ?? "It gave no reason.";
  throw unprocessable("endpoint_refused", `${token} did not make the endpoint: ${why}`);
}

const param = "api_key";

async function withTrouble(token: string, making: Promise<EndpointMade>): Promise<EndpointMade> {
  try {
    return await making;
  } catch (error) {
    if (!(error instanceof ApiTrouble)) throw error;
    throw unavailable("provider_unavailable", `${token} cannot be reached: ${error.message}.`);
  }
}

function keyRefused(token: string, status: 401 | 403) {
  return status === 401
    ? unprocessable("api_key_unknown", `${token} does not know this API key.`, param)
    : unprocessable(
        "api_key_not_allowed",
        "This API key may not make webhook endpoints: allow it to write them, or add the " +
          "endpoint by hand.",
        param,
      );
}
