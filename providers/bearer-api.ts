/** An API that takes the merchant's key as it stands: nothing is exchanged for it. */
import type { ProviderApi } from "./provider.js";

/** @param api.keyOf a key is optional */
export function bearerApi<Credentials>(api: {
  readonly baseUrl: (credentials: Credentials) => string;
  readonly keyOf: (credentials: Credentials) => string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly requestsPerSecond: number;
  readonly limitsAddress?: true;
  readonly meaningOf?: ProviderApi<Credentials>["meaningOf"];
}): ProviderApi<Credentials> {
  const { baseUrl, keyOf, headers, requestsPerSecond, limitsAddress, meaningOf } = api;
  return {
    baseUrl,
    requestsPerSecond,
    ...(limitsAddress && { limitsAddress }),
    ...(meaningOf && { meaningOf }),
    allowsCalls: (credentials) => keyOf(credentials) !== undefined,
    authorize: async (credentials) => {
      const key = keyOf(credentials);
      if (key === undefined) return null;
      const authorization = `Bearer ${key}`;
      return { headers: { authorization, ...headers }, until: Number.MAX_SAFE_INTEGER };
    },
  };
}
