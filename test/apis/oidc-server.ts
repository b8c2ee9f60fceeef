/** A real OpenID Connect provider, behind an address of identity-servers.ts. */
import Provider from "oidc-provider";
import { client, type IdentityServers } from "./identity-servers.js";

interface Account {
  readonly sub: string;
  readonly name: string;
  readonly email: string;
  readonly email_verified: boolean;
}

export interface OidcServer {
  /** Who signs in next, without being asked for a password. */
  account: Account;
  readonly provider: Provider;
}

export function serveOidc(servers: IdentityServers, dashboard: string): OidcServer {
  const accounts = new Map<string, Account>();
  const provider = new Provider(servers.oidcUrl, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [`${dashboard}/auth/oidc/callback`],
        post_logout_redirect_uris: [`${dashboard}/`],
        backchannel_logout_uri: `${dashboard}/auth/oidc/backchannel-logout`,
        backchannel_logout_session_required: true,
      },
    ],
    cookies: { keys: ["of-the-identity-provider-in-tests"] },
    claims: { openid: ["sub", "sid"], profile: ["name"], email: ["email", "email_verified"] },
    features: { devInteractions: { enabled: false }, backchannelLogout: { enabled: true } },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ ...(accounts.get(id) ?? { sub: id }) }),
    }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: client.id,
        accountId: oidc.session?.accountId ?? "",
      });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
    // Its own refuses addresses of this machine.
    fetch: (url, { dispatcher: _guard, ...options }: RequestInit & { dispatcher?: unknown } = {}) =>
      globalThis.fetch(url, options),
  });
  const server: OidcServer = {
    account: { sub: "nobody", name: "Nobody", email: "nobody@example.com", email_verified: true },
    provider,
  };
  const handle = provider.callback();
  servers.answerOidc = (request, response) => {
    if ((request.url ?? "").startsWith("/interaction/")) {
      const { account } = server;
      accounts.set(account.sub, account);
      const result = { login: { accountId: account.sub } };
      const how = { mergeWithLastSubmission: false };
      void provider.interactionFinished(request, response, result, how);
    } else {
      void handle(request, response);
    }
  };
  return server;
}
