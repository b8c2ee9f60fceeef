/**
 * `/unsubscribe/<token>`: ends one digest, or a workspace's alerts to one member, for whoever has
 * the link from an e-mail. A POST does it at once, as mail programs send it (RFC 8058). A GET only
 * asks, because scanners open links.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type Router from "@koa/router";
import { limits } from "../../config.js";
import { readBytes } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../service.js";
import { ownSecret } from "../../stores/vault/own-secrets.js";
import { removeReceiver } from "../../workspaces/alerts/alerts.js";
import { endDigest } from "../../workspaces/digests.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { plainPage } from "../plain-page.js";

const path = "/unsubscribe";

/** The token is what it ends, with our signature, so it can do nothing else. */
export class Unsubscribing {
  private constructor(private readonly key: Buffer) {}

  static async open({ postgres, vault }: Pick<Service, "postgres" | "vault">) {
    return new Unsubscribing(await ownSecret(postgres, vault, "unsubscribe_key"));
  }

  urlOf({ id, origin }: { readonly id: string; readonly origin: string }): string {
    return `${origin}${path}/${id}.${this.#signature(id).toString("base64url")}`;
  }

  alertsUrlOf(workspace: string, member: string, origin: string): string {
    return this.urlOf({ id: `${alertsMark}~${workspace}~${member}`, origin });
  }

  /** @returns the digest's id, or which alerts; null when the token is not one of ours */
  idIn(token: string): string | null {
    const [id = "", given = ""] = token.split(".");
    const [signature, expected] = [Buffer.from(given, "base64url"), this.#signature(id)];
    const isOurs = signature.length === expected.length && timingSafeEqual(signature, expected);
    return isOurs ? id : null;
  }

  #signature(id: string): Buffer {
    return createHmac("sha256", this.key).update(id).digest();
  }
}

export function unsubscribeRoutes(
  router: Router,
  { postgres }: Pick<Service, "postgres">,
  unsubscribing: Unsubscribing,
): void {
  router.get(`${path}/:token`, (ctx) => {
    refuseParameters(ctx);
    if (unsubscribing.idIn(String(ctx.params.token)) === null) return wrongLink(ctx);
    plainPage(ctx, 200, "No more of these e-mails?", ["Your other settings stay."], "Unsubscribe");
  });

  router.post(`${path}/:token`, async (ctx) => {
    refuseParameters(ctx);
    await readBytes(ctx, limits.unsubscribeBytesMax);
    const id = unsubscribing.idIn(String(ctx.params.token));
    if (id === null) return wrongLink(ctx);
    const done = id.startsWith(alertsMark) ? await endAlerts(id) : await ended(id);
    if (done !== null) {
      await recordActivity(postgres, { ...done, requestId: ctx.state.requestId }, new Date());
    }
    plainPage(ctx, 200, "You are unsubscribed", ["You get no more of these e-mails."]);
  });

  async function ended(id: string) {
    const digest = await endDigest(postgres, id);
    if (digest === null) return null;
    const { workspace, member } = digest;
    return { workspace, actor: member ?? "digests", action: "digest.ended", object: id };
  }

  async function endAlerts(id: string) {
    const [, workspace = "", member = ""] = id.split("~");
    await removeReceiver(postgres, workspace, member);
    return { workspace, actor: member, action: "alert.unsubscribed", object: member };
  }
}

const alertsMark = "alerts";

function wrongLink(ctx: Parameters<typeof plainPage>[0]): void {
  const sentence = "Open it from the e-mail again, or choose your digest in the settings.";
  plainPage(ctx, 404, "This link is not whole", [sentence]);
}
