import { isAbsolute } from "node:path";
import { RunningBackups } from "../../stores/backup/running.js";
import { vaultKeyOf } from "../../stores/data-folder.js";
import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import type { Service } from "../../service.js";
import { newBackup } from "../../schemas/http/manage.js";
import type { Calls } from "./calls.js";

const path = "/backups";

export function backupRoutes(service: Service, calls: Calls<null>): void {
  const backups = new RunningBackups(service);

  const started = { right: "operate", action: "backup.started", status: 202 } as const;
  calls.write("POST", path, started, (ctx) => {
    const { to, keep = null, with_key: withKey = false } = readJson(ctx, newBackup);
    if (!isAbsolute(to)) {
      throw unprocessable(
        "path_relative",
        "A path on the service's machine begins at its root.",
        "to",
      );
    }
    const vaultKey = withKey ? vaultKeyOf(service.config) : null;
    const begun = backups.begin({ to, keep, vaultKey });
    if (begun === null) throw conflict("backup_running", "A backup is being made.");
    return begun;
  });

  calls.get(`${path}/last`, "operate", () => {
    if (backups.last === null) {
      throw notFound("backup_unknown", "No backup was asked for since this process started.");
    }
    return backups.last;
  });
}
