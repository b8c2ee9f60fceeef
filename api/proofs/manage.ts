/** `…/proofs`: made by an admin, previewed before, revoked at once; and the installation's key. */
import { limits } from "../../config.js";
import { originOf } from "../../http/cookies.js";
import { notFound, unprocessable } from "../../schemas/http/errors.js";
import {
  type NewProof,
  monthsByDefault,
  newProof,
  proof as proofShape,
  proofClaims,
  proofKey,
} from "../../schemas/http/proofs.js";
import { insertRow } from "../../stores/postgres/rows.js";
import { randomBase62 } from "../../stores/vault/random.js";
import { type Proof, listProofs, revokeProof } from "../../workspaces/proofs.js";
import { type Call, ofInstallation, ofWorkspace } from "../manage/calls.js";
import { requireRoom } from "../manage/room.js";
import { dayMs, startOfDay } from "../reading/calendar.js";
import { clocksOf } from "../reading/reading.js";
import { pinnedText } from "../segments/resolve.js";
import { figures } from "./figures.js";
import { keyRestMs } from "./keys.js";
import { type Showing, issuerOf } from "./statement.js";

const idLength = 22;

const path = "/proofs";

export const manageProofRoutes = [
  ofWorkspace.list(path, "Public, signed pages of one figure each", {
    right: "look",
    row: proofShape,
    read: ({ postgres, of }, page) => listProofs(postgres, of.id, page),
    view: (row, { config }) => shown(row, issuerOf(config, row)),
  }),
  ofWorkspace.post(path, "Publish one", {
    right: "manage",
    action: "proof.created",
    body: newProof,
    answer: proofShape,
    errors: [409],
    async run(call) {
      const { config, postgres, proofs, of } = call;
      const { showing, expiresAt } = await given(call, call.body);
      // What the interface refuses cannot be shown.
      const { value } = await proofs.claims(of, showing, Date.now());
      if (value === null) {
        const message = "There is no such figure yet, or none of this part.";
        throw unprocessable("figure_unavailable", message, "figure");
      }
      const made: Proof = {
        ...showing,
        id: `prf_${randomBase62(idLength)}`,
        workspace: of.id,
        expires_at: expiresAt,
        revoked_at: null,
        created_at: new Date(),
      };
      await postgres.transaction(async (sql) => {
        await requireRoom(sql, "proofs", of.id, limits.proofsMax, "revoked_at IS NULL");
        await insertRow(sql, "proofs", { ...made, filters: JSON.stringify(made.filters) });
      });
      return shown(made, issuerOf(config, made));
    },
  }),
  ofWorkspace.post(`${path}/preview`, "What one would say; nothing is published", {
    right: "manage",
    body: newProof,
    answer: proofClaims,
    status: 200,
    async run(call) {
      const { showing } = await given(call, call.body);
      return call.proofs.claims(call.of, showing, Date.now());
    },
  }),
  ofWorkspace.delete(`${path}/{proof}`, "Revoke one; its address says so", {
    right: "manage",
    action: "proof.revoked",
    answer: proofShape,
    async run({ config, postgres, proofs, ctx, of }) {
      const row = await revokeProof(postgres, of.id, String(ctx.params.proof), new Date());
      if (row === null) throw notFound("proof_unknown", "There is no such proof.");
      // This process sees it at once, others within 5 s.
      proofs.forget();
      return shown(row, issuerOf(config, row));
    },
  }),
];

export const proofKeyRoutes = [
  ofInstallation.post("/proof-keys", "Sign proofs with a new key, in two minutes", {
    right: "operate",
    action: "proof_key.created",
    answer: proofKey,
    async run({ proofs }) {
      const { kid, madeAt } = await proofs.keys.make();
      return { id: kid, signs_from: new Date(madeAt + keyRestMs).toISOString() };
    },
  }),
  ofInstallation.delete(
    "/proof-keys/{key}",
    "Revoke a key: nothing it signed can be verified any more",
    {
      right: "operate",
      action: "proof_key.revoked",
      answer: proofKey.pick({ id: true }),
      async run({ proofs, ctx }) {
        const kid = String(ctx.params.key);
        if (!(await proofs.keys.revoke(kid))) {
          throw notFound("proof_key_unknown", "There is no such key.");
        }
        proofs.forgetStatements();
        return { id: kid };
      },
    },
  ),
];

/** @throws ApiError 422 */
async function given({ ctx, of, ...service }: Call, asked: NewProof) {
  const now = Date.now();
  const expiresAt = asked.expires_at === undefined ? null : new Date(asked.expires_at);
  if (expiresAt !== null && expiresAt.getTime() <= now) {
    throw unprocessable("expires_at_past", "expires_at must be in the future.", "expires_at");
  }
  checkFit(asked, now);
  const isFrozen = asked.frozen === true;
  const access = { workspace: of.id, environment: "live" } as const;
  const { segment: named, ...filters } = asked.filters ?? {};
  const segment = named && (await pinnedText(service.postgres, access, named));
  const clocks = isFrozen ? await clocksOf(service, access) : null;
  const showing: Showing = {
    title: asked.title,
    business: asked.business ?? of.name,
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

function shown({ workspace: _workspace, origin: _origin, ...shownToAll }: Proof, issuer: string) {
  return { ...shownToAll, url: `${issuer}/proofs/${shownToAll.id}` };
}
