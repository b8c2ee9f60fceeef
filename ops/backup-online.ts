/** Asks the service that works on the data folder for a backup, and waits for its end. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BackupRefused } from "../stores/backup/manifest.js";
import type { MadeBackup } from "../stores/backup/write.js";
import { tokenFile } from "../stores/data-folder.js";
import type { Config } from "../config.js";
import { backup as backupSchema, dataAnswer } from "../schemas/http/manage.js";

const lookEveryMs = 500;

/** @throws BackupRefused when the service cannot be reached, refuses or fails */
export async function askForBackup(config: Config, words: BackupWords): Promise<MadeBackup> {
  const { ADMIN_TOKEN: token = await readToken(config) } = config;
  const url = `http://localhost:${config.PORT}/v1/manage/backups`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({
    to: resolve(words.to),
    ...(words.keep === null ? {} : { keep: words.keep }),
    with_key: words.withKey,
  });
  await ask(url, { method: "POST", headers, body });
  for (;;) {
    const { state, path, bytes, problem } = await ask(`${url}/last`, { headers });
    if (state === "done" && path !== null) return { path, bytes: bytes ?? 0 };
    if (state === "failed") throw new BackupRefused(`No backup was made: ${problem}`);
    await pause(lookEveryMs);
  }
}

async function ask(url: string, request: RequestInit) {
  const answer = await fetch(url, request).catch((cause: unknown) => {
    throw new BackupRefused(
      `A service works on this data folder and does not answer at ${url}. Give this command the ` +
        "PORT of the service, or stop it.",
      { cause },
    );
  });
  const text = await answer.text();
  if (!answer.ok) throw new BackupRefused(`The service made no backup: ${text}`);
  return dataAnswer(backupSchema).parse(JSON.parse(text)).data;
}

async function readToken({ DATA_DIR: folder }: Config): Promise<string> {
  const file = join(folder, tokenFile);
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new BackupRefused(
      "A service works on this data folder and has to make the backup itself; there is no " +
        `${file}. Give this command the ADMIN_TOKEN of the service.`,
      { cause },
    );
  });
  return text.trim();
}

export interface BackupWords {
  readonly to: string;
  /** How many stay in the folder; null: all. */
  readonly keep: number | null;
  readonly withKey: boolean;
}
