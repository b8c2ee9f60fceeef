/**
 * Adapters for stories that ask nothing, because the answers of each event lie in its body:
 * Google's and Lemon Squeezy's. That asking works is proved apart (google-service.test.ts,
 * enrich.test.ts).
 */
import { createGoogle } from "../../../providers/google/index.js";
import { createGumroad } from "../../../providers/gumroad/index.js";
import { createLemonSqueezy } from "../../../providers/lemonsqueezy/index.js";
import type { Provider, ProviderToken } from "../../../providers/provider.js";
import { at } from "../readers/json.js";

const answered: readonly Provider[] = [
  { ...answeredInBody(createGoogle()), keepsAnswered: () => [], needs: () => [] },
  // What its events report one another may not change what the answers report.
  answeredInBody(createLemonSqueezy()),
];

function answeredInBody(provider: Provider): Provider {
  return {
    ...provider,
    asks: () => [],
    decode: (body, known) => {
      const answers = new Map<string, unknown>(Object.entries(Object(at(body, "answers"))));
      return provider.decode(body, { kept: new Map(), ...known, answers });
    },
  };
}

/** Gumroad's stories are of a seller without an access token: nothing is asked. */
const unasked: Provider = { ...createGumroad(), asks: () => [] };

export function withAnswersInBodies(
  providers: ReadonlyMap<ProviderToken, Provider>,
): ReadonlyMap<ProviderToken, Provider> {
  return new Map([
    ...providers,
    [unasked.token, unasked] as const,
    ...answered.map((one) => [one.token, one] as const),
  ]);
}
