import { isAbsolute } from "node:path";
import type Router from "@koa/router";
import { RunningBackups } from "../../backup/running.js";
import { vaultKeyOf } from "../../runtime/start/data-folder.js";
import { readJson } from "../../http/body.js";
import { conflict, notFound, unprocessable } from "../../http/errors.js";
import { refuseParameters } from "../../http/query.js";
import type { Service } from "../../runtime/service.js";
import { newBackup } from "../../schemas/http/manage.js";

const path = "/backups";

export function backupRoutes(router: Router, service: Service): void {
  const backups = new RunningBackups(service);

  router.post(path, async (ctx) => {
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
    ctx.status = 202;
    ctx.body = { status: "success", data: begun };
  });

  router.get(`${path}/last`, async (ctx) => {
    refuseParameters(ctx);
    if (backups.last === null) {
      throw notFound("backup_unknown", "No backup was asked for since this process started.");
    }
    ctx.body = { status: "success", data: backups.last };
  });
}
