/**
 * Where people sign in, in tests: a real OpenID Connect provider (`oidc-provider`), and a plain
 * OAuth 2 server as GitHub's is. They listen from the start, so that the service can be given
 * their addresses; what answers is made by the tests that sign somebody in.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serveHttp } from "../harness/loopback.js";
import { send } from "./stripe-api.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface IdentityServers {
  readonly oidcUrl: string;
  readonly gitHubUrl: string;
  answerOidc: Answer;
  answerGitHub: Answer;
}

export const client = { id: "dashboard", secret: "secret-of-the-dashboard-in-tests" } as const;

export async function openIdentityServers(): Promise<IdentityServers> {
  const away: Answer = (_request, response) => send(response, 503, {});
  const handlers = { oidc: away, gitHub: away };
  const oidcUrl = await serveHttp("oidc", (...call) => handlers.oidc(...call));
  const gitHubUrl = await serveHttp("github", (...call) => handlers.gitHub(...call));
  return {
    oidcUrl,
    gitHubUrl,
    set answerOidc(answer: Answer) {
      handlers.oidc = answer;
    },
    set answerGitHub(answer: Answer) {
      handlers.gitHub = answer;
    },
  };
}

interface GitHubUser {
  readonly id: number;
  readonly login: string;
  readonly name: string | null;
  readonly email: string;
}

export interface GitHubServer {
  user: GitHubUser;
}

/** Codes count once and are bound to PKCE, as GitHub's are; errors come with status 200. */
export function serveGitHub(servers: IdentityServers): GitHubServer {
  const server: GitHubServer = {
    user: { id: 1, login: "one", name: null, email: "1@example.com" },
  };
  const codes = new Map<string, { user: GitHubUser; challenge: string }>();
  const tokens = new Map<string, GitHubUser>();
  const grant = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = new URLSearchParams(await text(request));
    const code = form.get("code") ?? "";
    const held = codes.get(code);
    codes.delete(code);
    const verifier = form.get("code_verifier") ?? "";
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    const isClient =
      form.get("client_id") === client.id && form.get("client_secret") === client.secret;
    if (!isClient || held?.challenge !== challenge) {
      return send(response, 200, { error: "bad_verification_code" });
    }
    const token = randomBytes(8).toString("hex");
    tokens.set(token, held.user);
    send(response, 200, { access_token: token, token_type: "bearer", scope: "read:user" });
  };
  servers.answerGitHub = (request, response) => {
    const url = new URL(request.url ?? "/", servers.gitHubUrl);
    const user = tokens.get((request.headers.authorization ?? "").replace(/^bearer /i, ""));
    if (url.pathname === "/login/oauth/authorize") {
      const code = randomBytes(8).toString("hex");
      const challenge = url.searchParams.get("code_challenge") ?? "";
      codes.set(code, { user: server.user, challenge });
      const back = new URL(url.searchParams.get("redirect_uri") ?? "");
      back.searchParams.set("code", code);
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      response.writeHead(302, { location: back.href }).end();
    } else if (url.pathname === "/login/oauth/access_token") {
      void grant(request, response);
    } else if (user === undefined) {
      send(response, 401, { message: "Bad credentials" });
    } else if (url.pathname === "/user") {
      send(response, 200, { id: user.id, login: user.login, name: user.name });
    } else {
      send(response, 200, [{ email: user.email, primary: true, verified: true }]);
    }
  };
  return server;
}
