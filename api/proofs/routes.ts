/**
 * What strangers read: `/proofs/<id>`, with `.json` or `/embed`, and the public keys. No session is
 * read and parameters are ignored, so only what was published can be reached. A statement is made
 * once a minute at most, however many ask.
 */
import { createHash } from "node:crypto";
import type Router from "@koa/router";
import type { Context } from "koa";
import { limits } from "../../config.js";
import { signCompact } from "../../providers/signatures.js";
import { ExpiringCache } from "../../runtime/expiring-cache.js";
import { ApiError, notFound } from "../../schemas/http/errors.js";
import type { ProofClaims } from "../../schemas/http/proofs.js";
import type { Service } from "../../service.js";
import { type Proof, findProof } from "../../workspaces/proofs.js";
import { type Workspace, findWorkspace } from "../../workspaces/workspaces.js";
import { plainPage, setPageHeaders } from "../plain-page.js";
import type { Reads } from "../reading/in-process.js";
import { type ProofKeys, openProofKeys } from "./keys.js";
import { type KnownByOf, openKnownBy } from "./known.js";
import { proofFrame, proofPage, proofStyleHash } from "./page.js";
import { type Showing, claimsOf, issuerOf } from "./statement.js";

/** How late a revocation by another process is seen, as with keys. */
const recordKeptMs = 4_000;
const recordsKeptMax = 10_000;
const statementKeptMs = 60_000;

interface Part {
  readonly body: Buffer;
  readonly etag: string;
}
type Parts = Readonly<Record<"page" | "json" | "frame", Part>>;

export class Proofs {
  readonly keys: ProofKeys;
  readonly #knownByOf: KnownByOf;
  readonly #records: ExpiringCache<Proof | null>;
  /** Of existing proofs only, so that invented ids cannot displace one. */
  readonly #statements: ExpiringCache<Parts>;

  constructor(
    readonly service: Service,
    private readonly reads: Reads,
  ) {
    this.keys = openProofKeys(service);
    this.#knownByOf = openKnownBy(service);
    this.#records = new ExpiringCache({
      ttlMs: recordKeptMs,
      entriesMax: recordsKeptMax,
      load: (id) => findProof(service.postgres, id),
    });
    this.#statements = new ExpiringCache({
      ttlMs: statementKeptMs,
      entriesMax: limits.proofsKeptMax,
      load: (id) => this.#state(id),
    });
  }

  find(id: string): Promise<Proof | null> {
    return this.#records.get(id);
  }

  partsOf({ id }: Proof): Promise<Parts> {
    return this.#statements.get(id);
  }

  /**
   * Made anew.
   * @throws ApiError as the interface does
   * @param now ms since 1970
   */
  claims(workspace: Workspace, showing: Showing, now: number): Promise<ProofClaims> {
    const { service, reads } = this;
    const { config, postgres } = service;
    const sources = { config, postgres, reads, knownByOf: this.#knownByOf };
    return claimsOf(sources, workspace, showing, now);
  }

  /** After a change made by this process. */
  forget(): void {
    this.#records.clear();
  }

  /** After a key was revoked: what it signed is made anew. */
  forgetStatements(): void {
    this.#statements.clear();
  }

  async #state(id: string): Promise<Parts> {
    const { config, postgres } = this.service;
    const proof = await findProof(postgres, id);
    const workspace = proof && (await findWorkspace(postgres, proof.workspace));
    if (proof === null || workspace === null) throw unknown();
    const now = Date.now();
    const claims = await this.claims(workspace, proof, now);
    const { kid, privateKey } = await this.keys.signing();
    const iss = issuerOf(config, proof);
    const said = {
      iss,
      sub: `${iss}${path}/${id}`,
      iat: Math.floor(now / 1_000),
      ...(proof.expires_at && { exp: Math.floor(proof.expires_at.getTime() / 1_000) }),
    };
    const statement = { ...said, ...claims };
    const jws = signCompact({ alg: "EdDSA", typ: "JWT", kid }, statement, privateKey);
    return {
      page: partOf(proofPage(claims, { ...said, kid })),
      frame: partOf(proofFrame(claims, said)),
      json: partOf(`${JSON.stringify({ statement, jws })}\n`),
    };
  }
}

const path = "/proofs";

export function proofRoutes(router: Router, proofs: Proofs): void {
  const hsts = proofs.service.config.PUBLIC_URL?.startsWith("https:") === true;

  router.get("/.well-known/jwks.json", async (ctx) => {
    const keys = await proofs.keys.list();
    openToAll(ctx);
    ctx.body = Buffer.from(`${JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })}\n`);
  });

  router.get(`${path}/:proof`, async (ctx) => {
    const name = String(ctx.params.proof);
    const isJson = name.endsWith(".json");
    const proof = await standing(ctx, isJson ? name.slice(0, -".json".length) : name, isJson);
    if (proof === null) return;
    const { json, page } = await proofs.partsOf(proof);
    if (isJson) {
      openToAll(ctx);
      send(ctx, json);
      return;
    }
    setPageHeaders(ctx, proofStyleHash, "form-action 'none'; frame-ancestors 'none'");
    ctx.set("X-Frame-Options", "DENY");
    send(ctx, page);
  });

  router.get(`${path}/:proof/embed`, async (ctx) => {
    const proof = await standing(ctx, String(ctx.params.proof), false);
    if (proof === null) return;
    const { frame } = await proofs.partsOf(proof);
    setPageHeaders(ctx, proofStyleHash, "form-action 'none'; frame-ancestors *");
    send(ctx, frame);
  });

  /**
   * @returns null: the answer that it is gone was given
   * @throws ApiError 404, 410
   */
  async function standing(ctx: Context, id: string, isJson: boolean): Promise<Proof | null> {
    if (hsts) ctx.set("Strict-Transport-Security", "max-age=31536000");
    const proof = await proofs.find(id);
    if (proof === null) throw unknown();
    const ended = endOf(proof, Date.now());
    if (ended === null) return proof;
    if (isJson) throw new ApiError(410, "not_found", `proof_${ended}`, sentences[ended]);
    plainPage(ctx, 410, "No longer vouched for", [sentences[ended]]);
    return null;
  }
}

function endOf({ revoked_at: revoked, expires_at: expires }: Proof, now: number) {
  if (revoked !== null) return "revoked";
  return expires !== null && expires.getTime() <= now ? "expired" : null;
}

const sentences = {
  revoked: "This proof was revoked by the business that had published it.",
  expired: "This proof has expired.",
} as const;

function unknown(): ApiError {
  return notFound("proof_unknown", "There is no such proof.");
}

const cacheControl = "public, max-age=60";

/** Any page may read it from a browser: it is public, and no cookie counts. */
function openToAll(ctx: Context): void {
  ctx.set({ "Access-Control-Allow-Origin": "*", "Cache-Control": cacheControl });
  ctx.type = "application/json";
}

function send(ctx: Context, { body, etag }: Part): void {
  ctx.status = 200;
  ctx.set({ "Cache-Control": cacheControl, ETag: etag });
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = body;
}

function partOf(text: string): Part {
  const body = Buffer.from(text);
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}
