/** The roles of members in a workspace (`definitions.md`, Dashboard and sign-in). */
export const roles = ["viewer", "admin", "owner"] as const;
export type Role = (typeof roles)[number];

export function includesRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
