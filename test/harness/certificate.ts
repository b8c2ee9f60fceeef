/** A certificate signed by itself, for 127.0.0.1. */
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** @returns its files in the folder, which is made where it is missing */
export async function makeCertificate(
  folder: string,
): Promise<{ readonly key: string; readonly certificate: string }> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  await mkdir(folder, { recursive: true });
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", certificate];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...subject, ...files];
  await promisify(execFile)("openssl", made);
  return { key, certificate };
}
