import { isAbsolute } from "node:path";
import { vaultKeyOf } from "../../stores/data-folder.js";
import { conflict, notFound, unprocessable } from "../../schemas/http/errors.js";
import { backup, newBackup } from "../../schemas/http/manage.js";
import { ofInstallation } from "./calls.js";

const path = "/backups";

export const backupRoutes = [
  ofInstallation.post(path, "Make a backup now", {
    right: "operate",
    action: "backup.started",
    body: newBackup,
    answer: backup,
    status: 202,
    errors: [409],
    run({ backups, config, body: { to, keep = null, with_key: withKey = false } }) {
      if (!isAbsolute(to)) {
        throw unprocessable(
          "path_relative",
          "A path on the service's machine begins at its root.",
          "to",
        );
      }
      const begun = backups.begin({ to, keep, vaultKey: withKey ? vaultKeyOf(config) : null });
      if (begun === null) throw conflict("backup_running", "A backup is being made.");
      return begun;
    },
  }),
];

export const lastBackupRoutes = [
  ofInstallation.get(`${path}/last`, "The backup being made, or made last, by this process", {
    right: "operate",
    answer: backup,
    errors: [404],
    run({ backups }) {
      if (backups.last !== null) return backups.last;
      const message = "No backup was asked for since this process started.";
      throw notFound("backup_unknown", message);
    },
  }),
];
