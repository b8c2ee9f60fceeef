/**
 * `/unsubscribe/<token>`: ends one digest, for whoever has the link from it. A POST does it at
 * once, as mail programs send it (RFC 8058). A GET only asks, because scanners open links.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import type Router from "@koa/router";
import { limits } from "../../config.js";
import { readBytes } from "../../http/body.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../service.js";
import { ownSecret } from "../../stores/vault/own-secrets.js";
import { endDigest } from "../../workspaces/digests.js";
import { recordActivity } from "../../workspaces/members/activity.js";
import { plainPage } from "../plain-page.js";

const path = "/unsubscribe";

/** The token is the digest's id and our signature of it: it can do nothing but end that digest. */
export class Unsubscribing {
  private constructor(private readonly key: Buffer) {}

  static async open({ postgres, vault }: Pick<Service, "postgres" | "vault">) {
    return new Unsubscribing(await ownSecret(postgres, vault, "unsubscribe_key"));
  }

  urlOf({ id, origin }: { readonly id: string; readonly origin: string }): string {
    return `${origin}${path}/${id}.${this.#signature(id).toString("base64url")}`;
  }

  /** @returns the digest's id; null when the token is not one of ours */
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
    const ended = await endDigest(postgres, id);
    if (ended !== null) {
      const { workspace, member } = ended;
      const done = { workspace, actor: member, action: "digest.ended", object: id };
      await recordActivity(postgres, { ...done, requestId: ctx.state.requestId }, new Date());
    }
    plainPage(ctx, 200, "You are unsubscribed", ["You get no more of these e-mails."]);
  });
}

function wrongLink(ctx: Parameters<typeof plainPage>[0]): void {
  const sentence = "Open it from the e-mail again, or choose your digest in the settings.";
  plainPage(ctx, 404, "This link is not whole", [sentence]);
}
