/**
 * Signing in without an identity provider or a passkey: by the link that a start prints while
 * nobody owns the installation, or one that anyone with access to the machine can request.
 */
import { rmSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Postgres } from "../../stores/postgres/postgres.js";
import type { Service } from "../../service.js";
import { recordActivity } from "./activity.js";
import { ownWorkspacesOfNobody } from "./memberships.js";
import { drawLink, forgetSetupLinks, linkMsMax, spendLink } from "./one-time-tokens.js";
import { hashToken } from "../../schemas/ids.js";
import { drawToken } from "./sessions.js";
import { createUser, installationOwner } from "./users.js";

/** @returns the token of a link for the first owner; null: there is an owner already */
export async function drawSetupLink(postgres: Postgres, now: Date): Promise<string | null> {
  if ((await installationOwner(postgres)) !== null) return null;
  return postgres.transaction((sql) => drawLink(sql, "setup", now));
}

/**
 * A link for an embedded installation, in its data folder, which only its owner can write. The
 * running service reads it when the link is opened.
 */
export function writeLinkFile(folder: string, now: Date): string {
  const token = drawToken();
  const link = { hash: hashToken(token).toString("hex"), until: now.getTime() + linkMsMax };
  const file = join(folder, linkFile);
  writeFileSync(`${file}.new`, JSON.stringify(link), { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return token;
}

const linkFile = "sign-in.link";
const linkShape = z.object({ hash: z.string(), until: z.number() });

function spendLinkFile(folder: string, token: string, now: Date): boolean {
  const file = join(folder, linkFile);
  try {
    const link = linkShape.parse(JSON.parse(readFileSync(file, "utf8")));
    if (link.hash !== hashToken(token).toString("hex") || link.until <= now.getTime()) return false;
    rmSync(file);
    return true;
  } catch {
    return false;
  }
}

interface Opened {
  readonly member: string;
  readonly token: string;
}

/** Signs the owner of the installation in, or makes the first one. */
export async function openLink(
  service: Pick<Service, "config" | "postgres" | "sessions" | "vault">,
  given: { readonly token: string; readonly name: string; readonly requestId: string },
  now: Date,
): Promise<Opened | null> {
  const { config, postgres, sessions, vault } = service;
  const opened = await postgres.transaction(async (sql) => {
    // Of two links opened at the same moment only one makes an owner.
    await sql.query("SELECT pg_advisory_xact_lock($1)", [firstOwnerLock]);
    const purpose =
      (await spendLink(sql, given.token, now)) ??
      (config.DATABASE_URL === undefined && spendLinkFile(config.DATA_DIR, given.token, now)
        ? "sign-in"
        : null);
    const owner = await installationOwner(sql);
    if (purpose === null || (purpose === "setup" && owner !== null)) return null;
    const member =
      owner ?? (await createUser(sql, vault, { name: given.name, ownsInstallation: true }, now));
    if (owner === null) {
      await ownWorkspacesOfNobody(sql, member, now);
      await forgetSetupLinks(sql);
    }
    const token = await sessions.begin(sql, { user: member, by: "link" });
    const action = owner === null ? "installation.owned" : "session.started";
    const { requestId } = given;
    await recordActivity(
      sql,
      { workspace: null, actor: member, action, object: member, requestId },
      now,
    );
    return { member, token };
  });
  sessions.forget();
  return opened;
}

/** Any number that nothing else in the database uses. */
const firstOwnerLock = 7_305_120;
