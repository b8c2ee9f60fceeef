/**
 * `npm run ops -- rotate-key`: everything is sealed under a new vault key, and the key before it
 * is kept sealed under the new one, for the raw events that stay as they are.
 */
import { resolve } from "node:path";
import { replaceVaultKey } from "../stores/data-folder.js";
import { resealSecrets } from "../workspaces/reseal.js";
import type { Service } from "../service.js";
import { openVault, vaultKeyId } from "../stores/vault/vault.js";

type Report = (line: string) => void;

/** @returns the exit code */
export async function rotateKey(service: Service, report: Report): Promise<number> {
  const { config, postgres, vault } = service;
  const { VAULT_ENCRYPTION_KEY_PREVIOUS: previousKey } = config;
  if (config.VAULT_ENCRYPTION_KEY === undefined) {
    await replaceVaultKey(resolve(config.DATA_DIR), async ({ next, previous }) => {
      report("Sealing every secret under a new vault key.");
      const secrets = await resealSecrets(postgres, openVault(next, previous), previous);
      report(`${secrets} secrets are sealed under the new vault key ${vaultKeyId(next)}.`);
    });
    report(
      "It replaces the old one. Back up the new key, " +
        "and keep the old one as long as older backups.",
    );
    return 0;
  }
  if (previousKey === undefined) {
    report(
      "Set VAULT_ENCRYPTION_KEY to the new key (openssl rand -hex 32) and " +
        "VAULT_ENCRYPTION_KEY_PREVIOUS to the one until now, for this command and for the service.",
    );
    return 2;
  }
  const secrets = await resealSecrets(postgres, vault, previousKey);
  report(`Every secret is sealed under the vault key ${vault.keyId} (${secrets} by this command).`);
  report(
    `Nothing but backups from before needs ${vaultKeyId(previousKey)} any more: once every ` +
      "process runs with the new key, remove VAULT_ENCRYPTION_KEY_PREVIOUS.",
  );
  return 0;
}
