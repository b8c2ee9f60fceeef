/** `…/proofs`: made by an admin, previewed before, revoked at once; and the installation's key. */
import type { Context } from "koa";
import { limits } from "../../config.js";
import { readJson } from "../../http/body.js";
import { originOf } from "../../http/cookies.js";
import { refuseParameters } from "../../http/query.js";
import { notFound, unprocessable } from "../../schemas/http/errors.js";
import {
  type NewProof,
  type ProofView,
  monthsByDefault,
  newProof,
} from "../../schemas/http/proofs.js";
import { insertRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { type Proof, listProofs, revokeProof } from "../../workspaces/proofs.js";
import type { Workspace } from "../../workspaces/workspaces.js";
import type { Calls } from "../manage/calls.js";
import { requireRoom } from "../manage/room.js";
import { dayMs, startOfDay } from "../reading/calendar.js";
import { clocksOf } from "../reading/reading.js";
import { pinnedText } from "../segments/resolve.js";
import { figures } from "./figures.js";
import { keyRestMs } from "./keys.js";
import type { Proofs } from "./routes.js";
import { type Showing, issuerOf } from "./statement.js";

const idLength = 22;

export function proofManageRoutes(
  proofs: Proofs,
  installation: Calls<null>,
  calls: Calls<Workspace>,
): void {
  const { config, postgres } = proofs.service;
  const path = "/proofs";
  const view = (row: Proof) => shown(row, issuerOf(config, row));

  calls.list(path, "look", ({ id }, page) => listProofs(postgres, id, page), view);

  calls.answer("POST", `${path}/preview`, { right: "manage" }, async (ctx, workspace) => {
    refuseParameters(ctx);
    const { showing } = await given(ctx, workspace);
    const data = await proofs.claims(workspace, showing, Date.now());
    return { status: "success", data };
  });

  const created = { right: "manage", action: "proof.created", status: 201 } as const;
  calls.write("POST", path, created, async (ctx, workspace) => {
    const { showing, expiresAt } = await given(ctx, workspace);
    // What the interface refuses cannot be shown.
    const { value } = await proofs.claims(workspace, showing, Date.now());
    if (value === null) {
      const message = "There is no such figure yet, or none of this part.";
      throw unprocessable("figure_unavailable", message, "figure");
    }
    const made: Proof = {
      ...showing,
      id: `prf_${randomBase62(idLength)}`,
      workspace: workspace.id,
      expires_at: expiresAt,
      revoked_at: null,
      created_at: new Date(),
    };
    await postgres.transaction(async (sql) => {
      await requireRoom(sql, "proofs", workspace.id, limits.proofsMax, "revoked_at IS NULL");
      await insertRow(sql, "proofs", { ...made, filters: JSON.stringify(made.filters) });
    });
    return view(made);
  });

  const revoked = { right: "manage", action: "proof.revoked" } as const;
  calls.write("DELETE", `${path}/:proof`, revoked, async (ctx, { id }) => {
    const row = await revokeProof(postgres, id, String(ctx.params.proof), new Date());
    if (row === null) throw notFound("proof_unknown", "There is no such proof.");
    // This process sees it at once, others within 5 s.
    proofs.forget();
    return view(row);
  });

  const key = { right: "operate", action: "proof_key.created", status: 201 } as const;
  installation.write("POST", "/proof-keys", key, async () => {
    const { kid, madeAt } = await proofs.keys.make();
    return { id: kid, signs_from: new Date(madeAt + keyRestMs).toISOString() };
  });

  const gone = { right: "operate", action: "proof_key.revoked" } as const;
  installation.write("DELETE", "/proof-keys/:key", gone, async (ctx) => {
    const kid = String(ctx.params.key);
    if (!(await proofs.keys.revoke(kid))) {
      throw notFound("proof_key_unknown", "There is no such key.");
    }
    proofs.forgetStatements();
    return { id: kid };
  });

  /** @throws ApiError 422 */
  async function given(ctx: Context, workspace: Workspace) {
    const asked = readJson(ctx, newProof);
    const now = Date.now();
    const expiresAt = asked.expires_at === undefined ? null : new Date(asked.expires_at);
    if (expiresAt !== null && expiresAt.getTime() <= now) {
      throw unprocessable("expires_at_past", "expires_at must be in the future.", "expires_at");
    }
    checkFit(asked, now);
    const isFrozen = asked.frozen === true;
    const access = { workspace: workspace.id, environment: "live" } as const;
    const { segment: named, ...filters } = asked.filters ?? {};
    const segment = named && (await pinnedText(postgres, access, named));
    const clocks = isFrozen ? await clocksOf(proofs.service, access) : null;
    const showing: Showing = {
      title: asked.title,
      business: asked.business ?? workspace.name,
      figure: asked.figure,
      filters: { ...filters, ...(segment && { segment }) },
      months: figures[asked.figure].of === "moment" ? null : (asked.months ?? monthsByDefault),
      shown_as: asked.shown_as ?? "exact",
      at: clocks && new Date(Math.min(asked.at ?? now, clocks.completeTo)),
      known_at: clocks && new Date(clocks.completeTo),
      origin: originOf(ctx.req),
    };
    return { showing, expiresAt };
  }
}

/** @throws ApiError 422 for options that do not fit each other or the figure */
function checkFit(asked: NewProof, now: number): void {
  const { figure, months, shown_as: as, at, frozen } = asked;
  const { of, unit } = figures[figure];
  if (months !== undefined && of === "moment") {
    throw unprocessable("months_unfit", `${figure} is of one moment.`, "months");
  }
  if (at !== undefined && frozen !== true) {
    throw unprocessable("at_unfit", "at is for frozen ones: a live one follows the clock.", "at");
  }
  // Today, as a day, means up to its end.
  if (at !== undefined && at >= startOfDay(now) + dayMs) {
    throw unprocessable("moment_in_future", "at lies in the future.", "at");
  }
  if (as === "index" && !("rows" in figures[figure])) {
    const message = "An index says something of figures over time only.";
    throw unprocessable("shown_as_unfit", message, "shown_as");
  }
  if (as === "at_least" && unit === "percent") {
    const message = "Of a rate, less may be better: show it exactly or with two digits.";
    throw unprocessable("shown_as_unfit", message, "shown_as");
  }
}

function shown(row: Proof, issuer: string): ProofView {
  const { workspace: _workspace, origin: _origin, ...rest } = row;
  const { at, known_at, expires_at, revoked_at, created_at } = row;
  return {
    ...rest,
    url: `${issuer}/proofs/${row.id}`,
    at: at?.toISOString() ?? null,
    known_at: known_at?.toISOString() ?? null,
    expires_at: expires_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null,
    created_at: created_at.toISOString(),
  };
}
