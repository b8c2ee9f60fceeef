/** The providers, one line each. Adding one = its folder and its line. */
import type { Config } from "../config.js";
import { createApple } from "./apple/index.js";
import { bounded } from "./bounded.js";
import type { Provider, ProviderToken } from "./provider.js";
import { createGoogle } from "./google/index.js";
import { createCustom } from "./custom/index.js";
import { createLemonSqueezy } from "./lemonsqueezy/index.js";
import { createPaddle } from "./paddle/index.js";
import { createChargebee } from "./chargebee/index.js";
import { createPolar } from "./polar/index.js";
import { createGumroad } from "./gumroad/index.js";
import { createRevenueCat } from "./revenuecat/index.js";
import { createStripe } from "./stripe/index.js";

export function createProviders(settings: Config): ReadonlyMap<ProviderToken, Provider> {
  const providers: readonly Provider[] = [
    createStripe({ toleranceSeconds: settings.STRIPE_TOLERANCE_SECONDS }),
    createPaddle({
      toleranceSeconds: settings.PADDLE_TOLERANCE_SECONDS,
      fileHosts: settings.PADDLE_FILE_HOSTS?.split(","),
    }),
    createLemonSqueezy(),
    createPolar(),
    createChargebee(),
    createApple(),
    createGoogle({ tokenHosts: settings.GOOGLE_TOKEN_HOSTS?.split(",") ?? [] }),
    createRevenueCat({ toleranceSeconds: settings.REVENUECAT_TOLERANCE_SECONDS }),
    createGumroad(),
    createCustom({ toleranceSeconds: settings.CUSTOM_TOLERANCE_SECONDS }),
  ];
  return new Map(providers.map((provider) => [provider.token, bounded(provider)]));
}
