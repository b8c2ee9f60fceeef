/** The identity providers of the settings, by openid-client. */
import { createRemoteJWKSet, jwtVerify } from "jose";
import * as openid from "openid-client";
import type { Config } from "../../config.js";
import { z } from "zod";

export interface Person {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  /** Only where the provider has verified it. */
  readonly email: string | null;
  readonly sid: string | null;
  readonly idToken: string | null;
}

interface Checks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface IdentityProvider {
  readonly name: string;
  readonly label: string;
  /** @returns where to send the browser */
  begin(redirectUri: string, checks: Checks): Promise<URL>;
  /**
   * @param url the callback as it was called.
   * @throws when anything about it is wrong
   */
  finish(url: URL, checks: Checks): Promise<Person>;
  /** Where the provider ends its own session; null: it cannot. */
  signOutUrl(idToken: string, returnTo: string): Promise<URL | null>;
  /**
   * Null: it sends none.
   * @throws when the token is not one of the provider's
   */
  readonly readLogoutToken: ((token: string) => Promise<LogoutToken>) | null;
}

export interface LogoutToken {
  readonly issuer: string;
  readonly id: string;
  readonly subject: string | null;
  readonly sid: string | null;
}

export function identityProviders(config: Config): ReadonlyMap<string, IdentityProvider> {
  const { GOOGLE_CLIENT_ID: google, GITHUB_CLIENT_ID: github, OIDC_CLIENT_ID: oidc } = config;
  const providers: IdentityProvider[] = [];
  if (google !== undefined) {
    const client = { id: google, secret: config.GOOGLE_CLIENT_SECRET ?? "" };
    providers.push(openIdProvider("google", "Google", config.GOOGLE_ISSUER, client));
  }
  if (github !== undefined) {
    const client = { id: github, secret: config.GITHUB_CLIENT_SECRET ?? "" };
    providers.push(gitHub(config, client));
  }
  if (oidc !== undefined && config.OIDC_ISSUER !== undefined) {
    const client = { id: oidc, secret: config.OIDC_CLIENT_SECRET ?? "" };
    const label = config.OIDC_LABEL ?? "Single sign-on";
    providers.push(openIdProvider("oidc", label, config.OIDC_ISSUER, client));
  }
  return new Map(providers.map((provider) => [provider.name, provider]));
}

interface Client {
  readonly id: string;
  readonly secret: string;
}

const answerSecondsMax = 10;
const logoutTokenAge = "5 minutes";
const clockSkewSeconds = 60;

function openIdProvider(
  name: string,
  label: string,
  issuer: string,
  client: Client,
): IdentityProvider {
  const methods = [openid.ClientSecretBasic(client.secret), openid.ClientSecretPost(client.secret)];
  let method = 0;
  let found: Promise<openid.Configuration> | undefined;

  /** Discovered once; after a failure the next sign-in tries again. */
  function discovered(): Promise<openid.Configuration> {
    found ??= openid
      .discovery(new URL(issuer), client.id, undefined, methods[method], {
        timeout: answerSecondsMax,
        // The signature of ID tokens is checked, too: a proxy may end TLS in between.
        execute: [openid.enableNonRepudiationChecks, ...insecureWhere(issuer)],
      })
      .catch((error: unknown) => {
        found = undefined;
        throw error;
      });
    return found;
  }

  return {
    name,
    label,
    async begin(redirectUri, { state, nonce, verifier }) {
      return openid.buildAuthorizationUrl(await discovered(), {
        redirect_uri: redirectUri,
        scope: "openid profile email",
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
    },
    async finish(url, { state, nonce, verifier }) {
      const ask = async () =>
        openid.authorizationCodeGrant(await discovered(), url, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
      // Some providers take a client's secret in one way only, and do not say in which.
      const tokens = await ask().catch((error: unknown) => {
        if (!(error instanceof openid.ResponseBodyError) || error.error !== "invalid_client") {
          throw error;
        }
        method = 1 - method;
        found = undefined;
        return ask();
      });
      const claims = claimsShape.parse(await claimsOf(await discovered(), tokens));
      return {
        issuer: claims.iss,
        subject: claims.sub,
        name: claims.name ?? claims.preferred_username ?? claims.email ?? "Member",
        email: claims.email_verified === true ? (claims.email ?? null) : null,
        sid: claims.sid ?? null,
        idToken: tokens.id_token ?? null,
      };
    },
    async signOutUrl(idToken, returnTo) {
      const configuration = await discovered();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return null;
      return openid.buildEndSessionUrl(configuration, {
        id_token_hint: idToken,
        post_logout_redirect_uri: returnTo,
      });
    },
    async readLogoutToken(token) {
      const { issuer: expected, jwks_uri: keys } = (await discovered()).serverMetadata();
      if (keys === undefined) throw new Error("the provider names no keys");
      const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(keys)), {
        issuer: expected,
        audience: client.id,
        maxTokenAge: logoutTokenAge,
        clockTolerance: clockSkewSeconds,
      });
      const { jti, sub, sid } = logoutShape.parse(payload);
      return { issuer: expected, id: jti, subject: sub ?? null, sid: sid ?? null };
    },
  };
}

/** Some providers put only the subject into the ID token; the rest is requested. */
async function claimsOf(
  configuration: openid.Configuration,
  tokens: Awaited<ReturnType<typeof openid.authorizationCodeGrant>>,
): Promise<object> {
  const claims = tokens.claims();
  if (claims === undefined) throw new Error("no ID token came");
  const isAll = claims.name !== undefined && claims.email !== undefined;
  const { userinfo_endpoint: more } = configuration.serverMetadata();
  if (isAll || more === undefined) return claims;
  const asked = await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub);
  return { ...asked, ...claims };
}

const claimsShape = z.object({
  iss: z.string(),
  sub: z.string().min(1),
  name: z.string().min(1).optional(),
  preferred_username: z.string().min(1).optional(),
  email: z.string().optional(),
  email_verified: z.unknown().optional(),
  sid: z.string().optional(),
});

const logoutShape = z
  .object({
    jti: z.string().min(1),
    sub: z.string().min(1).optional(),
    sid: z.string().min(1).optional(),
    events: z.object({ "http://schemas.openid.net/event/backchannel-logout": z.object({}) }),
    // An ID token is no logout token.
    nonce: z.undefined().optional(),
  })
  .refine(({ sub, sid }) => sub !== undefined || sid !== undefined);

/** Plain OAuth 2: its API must be asked who somebody is. */
function gitHub(config: Config, client: Client): IdentityProvider {
  const { GITHUB_URL: site, GITHUB_API_URL: api } = config;
  const configuration = new openid.Configuration(
    {
      issuer: `${site}/login/oauth`,
      authorization_endpoint: `${site}/login/oauth/authorize`,
      token_endpoint: `${site}/login/oauth/access_token`,
    },
    client.id,
    undefined,
    openid.ClientSecretPost(client.secret),
  );
  configuration.timeout = answerSecondsMax;
  for (const allow of insecureWhere(site)) allow(configuration);

  async function ask<T>(token: string, path: string, shape: z.ZodType<T>): Promise<T> {
    const url = new URL(`${api}${path}`);
    const headers = new Headers({ accept: "application/vnd.github+json", "user-agent": client.id });
    const answer = await openid.fetchProtectedResource(
      configuration,
      token,
      url,
      "GET",
      null,
      headers,
    );
    return shape.parse(await answer.json());
  }

  return {
    name: "github",
    label: "GitHub",
    async begin(redirectUri, { state, verifier }) {
      return openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: "read:user user:email",
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
    },
    async finish(url, { state, verifier }) {
      const tokens = await openid.authorizationCodeGrant(configuration, url, {
        expectedState: state,
        pkceCodeVerifier: verifier,
      });
      const user = await ask(tokens.access_token, "/user", userShape);
      const emails = await ask(tokens.access_token, "/user/emails", emailsShape);
      const email = emails.find(({ primary, verified }) => primary && verified)?.email ?? null;
      return {
        issuer: site,
        // The number, because a login can be given to somebody else.
        subject: String(user.id),
        name: user.name ?? user.login,
        email,
        sid: null,
        idToken: null,
      };
    },
    signOutUrl: () => Promise.resolve(null),
    readLogoutToken: null,
  };
}

const userShape = z.object({
  id: z.int().positive(),
  login: z.string().min(1),
  name: z.string().min(1).nullable().optional().catch(null),
});
const emailsShape = z
  .array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }))
  .catch([]);

/** Plain HTTP where the setting says so: a provider on this machine, or in its own network. */
function insecureWhere(url: string): ((configuration: openid.Configuration) => void)[] {
  return url.startsWith("http:") ? [openid.allowInsecureRequests] : [];
}
