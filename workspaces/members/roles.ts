/** What a member may be in a workspace (`definitions.md`, Dashboard and sign-in). */
export const roles = ["viewer", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

/** Whether a role may do what the other one may. */
export function includesRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
