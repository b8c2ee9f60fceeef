/** Stores proofs: what the public page of one figure shows, until it is revoked. */
import type { ProofFigure, ProofFilters, ShownAs } from "../schemas/http/proofs.js";
import type { Postgres } from "../stores/postgres/postgres.js";
import { durably } from "../stores/postgres/rows.js";
import { type ListPage, newestFirst } from "./list-page.js";

export interface Proof {
  readonly id: string;
  readonly workspace: string;
  readonly business: string;
  readonly title: string;
  readonly figure: ProofFigure;
  readonly filters: ProofFilters;
  readonly months: number | null;
  readonly shown_as: ShownAs;
  /** Null, as `known_at`: it is live. */
  readonly at: Date | null;
  readonly known_at: Date | null;
  readonly origin: string;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly created_at: Date;
}

export async function findProof(postgres: Postgres, id: string): Promise<Proof | null> {
  const [row = null] = await postgres.query<Proof>("SELECT * FROM proofs WHERE id = $1", [id]);
  return row;
}

export function listProofs(
  postgres: Postgres,
  workspace: string,
  page: ListPage,
): Promise<Proof[]> {
  return newestFirst(postgres, page, "SELECT * FROM proofs WHERE workspace = $4", [workspace]);
}

/**
 * A second revocation changes nothing.
 * @returns null when there is no such proof
 */
export async function revokeProof(
  postgres: Postgres,
  workspace: string,
  id: string,
  now: Date,
): Promise<Proof | null> {
  const [row = null] = await durably<Proof>(
    postgres,
    `UPDATE proofs SET revoked_at = coalesce(revoked_at, $3)
     WHERE workspace = $1 AND id = $2 RETURNING *`,
    [workspace, id, now],
  );
  return row;
}
