/** What a browser does that matters to sign-in: keeps cookies by origin, names where it is. */
import { join } from "../../workspaces/members/memberships.js";
import { drawLink } from "../../workspaces/members/one-time-tokens.js";
import type { Role } from "../../workspaces/members/roles.js";
import { createUser } from "../../workspaces/members/users.js";
import type { Answer, Endpoints } from "./endpoints.js";
import type { TestService } from "./service.js";

export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  constructor(readonly base: string) {}

  /** The session's cookie, as it would be sent. */
  get session(): string {
    return this.#jar(this.base).get("session") ?? "";
  }

  cookie(name: string): string | undefined {
    return this.#jar(this.base).get(name);
  }

  setCookie(name: string, value: string): void {
    this.#jar(this.base).set(name, value);
  }

  /** A call of the dashboard's own page. */
  async call(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const isRead = method === "GET";
    const response = await this.#fetch(new URL(path, this.base), {
      method,
      headers: {
        ...(isRead ? {} : { origin: this.base, "sec-fetch-site": "same-origin" }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answerOf(response);
  }

  /** @param until stops before it goes to a URL that begins so */
  async visit(path: string, until?: string): Promise<Answer & { readonly url: URL }> {
    let url = new URL(path, this.base);
    for (let hops = 0; hops < 20; hops += 1) {
      const response = await this.#fetch(url, {});
      const location = response.headers.get("location");
      if (location === null) return { ...(await answerOf(response)), url };
      url = new URL(location, url);
      if (until !== undefined && url.href.startsWith(until)) {
        return { ...(await answerOf(response)), url };
      }
    }
    throw new Error(`too many redirects, last to ${url.href}`);
  }

  /** Sends a form of a page of another site. */
  async submit(url: string, fields: Record<string, string>): Promise<Answer> {
    const to = new URL(url);
    const body = new URLSearchParams(fields);
    return answerOf(
      await this.#fetch(to, { method: "POST", body, headers: { origin: to.origin } }),
    );
  }

  async #fetch(url: URL, init: RequestInit): Promise<Response> {
    const jar = this.#jar(url.origin);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = new Headers(init.headers);
    if (cookie !== "") headers.set("cookie", cookie);
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const text of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = text.split(";");
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      const isGone =
        value === "" || attributes.some((one) => /max-age=0|expires=thu, 01 jan 1970/i.test(one));
      if (isGone) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  #jar(origin: string): Map<string, string> {
    const jar = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, jar);
    return jar;
  }
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const { status, headers } = response;
  return { status, headers, text, json: isJson ? JSON.parse(text) : null };
}

/** A browser signed in as the owner of the installation, who is made by the first call. */
export async function ownerBrowser({ base, service }: TestService): Promise<Browser> {
  const browser = new Browser(base);
  const token = await drawLink(service.postgres, "sign-in", new Date());
  const answer = await browser.call("POST", "/v1/session/setup", { token, name: "Owner" });
  if (answer.status !== 201) throw new Error(answer.text);
  return browser;
}

export type Member = Browser & { readonly id: string };

/** The browser of a new member of the workspace, signed in. */
export async function memberOf(
  { base, service, workspace }: Pick<Endpoints, "base" | "service" | "workspace">,
  role: Role,
  email: string | null = null,
): Promise<Member> {
  const { postgres, sessions, vault } = service;
  const [id, token] = await postgres.transaction(async (sql) => {
    const user = await createUser(sql, vault, { name: `A ${role}`, email }, new Date());
    await join(sql, workspace, user, role, new Date());
    return [user, await sessions.begin(sql, { user, by: "link" })] as const;
  });
  const browser = new Browser(base);
  browser.setCookie("session", token);
  return Object.assign(browser, { id });
}
