/** The bodies every provider folder carries, read as the service reads them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseBody } from "../../http/webhook-body.js";
import { projectFile } from "../../runtime/project-root.js";
import { signNotification } from "../../providers/apple/jws.js";
import { makeTestChain } from "../../ops/payloads/apple-test-chain.js";
import type { Decoded, Heading, Known, Provider } from "../../providers/provider.js";

export interface ReadFixture {
  /** Its file's, without the ending. */
  readonly name: string;
  /** Null: no event of this provider. */
  readonly heading: Heading | null;
  readonly decoded: Decoded;
  /** Whether answers of the provider's API lie beside it. */
  readonly isAnswered: boolean;
}

/** When they are received, whatever the clock says. */
const receivedAt = Date.UTC(2026, 10, 20);
/** The body of an example, not what lies beside it. */
const bodyFile = /(?<!\.facts|\.answers|\.kept)\.(json|form)$/;

export function readFixtures(provider: Provider): ReadFixture[] {
  const folder = projectFile("providers", provider.token, "fixtures");
  return readdirSync(folder)
    .filter((file) => bodyFile.test(file))
    .sort()
    .map((file) => readFixture(provider, folder, file));
}

function readFixture(provider: Provider, folder: string, file: string): ReadFixture {
  const name = file.replace(bodyFile, "");
  const answers = besides(folder, `${name}.answers.json`);
  const kept = besides(folder, `${name}.kept.json`);
  const parsed = parseBody(provider, asSent(provider, readFileSync(join(folder, file))));
  if (!parsed.ok) throw new Error(`${file}: ${parsed.message}`);
  const heading = provider.heading(parsed.value, { "webhook-id": name }, receivedAt);
  const known: Known = {
    kept: new Map(kept),
    answers: new Map(answers),
    receivedAt,
    firstReceivedAt: receivedAt,
    nativeId: heading?.nativeId ?? name,
  };
  const decoded = provider.decode(parsed.value, known);
  return { name, heading, decoded, isAnswered: answers.length > 0 };
}

/** Apple's signatures are part of the body; any key will do, since nothing is verified here. */
function asSent({ token }: Provider, body: Buffer): Buffer {
  return token === "apple" ? signNotification(body, makeTestChain()) : body;
}

function besides(folder: string, file: string): [string, unknown][] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (typeof parsed !== "object" || parsed === null) throw new Error(`${file} is no object`);
  return Object.entries(parsed);
}
