/**
 * What one event costs at each provider's adapter: its signature checked, its body parsed,
 * its facts reported. One core, the median of many rounds over fixtures near 3 kB; the floor is one
 * HMAC over the same bytes.
 */
import { createHmac, generateKeyPairSync, sign, verify } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { parseBody } from "../../http/webhook-body.js";
import { projectFile } from "../../runtime/project-root.js";
import { readConfig } from "../../config.js";
import { makeTestChain, makeTestRoot } from "../payloads/apple-test-chain.js";
import type { Signer } from "../../providers/apple/jws.js";
import { createProviders } from "../../providers/index.js";
import type { Known, Provider, ProviderToken } from "../../providers/provider.js";
import { type Figure, median } from "./figures.js";

const bodyBytes = 3_000;
const warmUpRounds = 500;
const rounds = 2_000;
const coldWarmUpRounds = 50;
const coldRounds = 200;
/** As many as Apple's intermediate has. */
const certificateBytes = 760;
const hmacMsMax = 0.06;
const verifyAside = promisify(verify);

export async function providers(): Promise<Figure[]> {
  const known = createProviders(readConfig({}));
  const figures: Figure[] = [];
  for (const [token, signing] of Object.entries(integrations())) {
    const provider = [...known.values()].find((one) => one.token === token);
    if (provider === undefined) throw new Error(`no adapter for ${token}`);
    const measured = await measure(provider, signing);
    figures.push({
      name: `${token}, verify and decode ${measured.bytes} bytes`,
      value: measured.ms,
      unit: "ms",
      floor: measured.hmacMs,
      target: { valueMax: signing.msMax },
    });
  }
  const makeIssuer = makeTestRoot();
  figures.push(
    await coldApple("a new leaf", 1, makeIssuer()),
    await coldApple("a new intermediate", 2, () => makeIssuer()()),
  );
  return figures;
}

interface Signing {
  readonly credentials: unknown;
  readonly signer?: unknown;
  readonly msMax: number;
}

function integrations(): Partial<Record<ProviderToken, Signing>> {
  const hmac = (credentials: unknown): Signing => ({ credentials, msMax: hmacMsMax });
  const chain = makeTestChain();
  return {
    stripe: hmac({ signing_secret: "whsec_of_the_benchmark" }),
    paddle: hmac({ signing_secret: "pdl_ntfset_01jbench_b2YgdGhlIGJlbmNobWFyaw" }),
    lemonsqueezy: hmac({ signing_secret: "of the benchmark" }),
    revenuecat: hmac({ signing_secret: "rc_secret_of_the_benchmark" }),
    gumroad: hmac({ seller_id: "b2YgdGhlIGJlbmNo==" }),
    custom: hmac({ signing_secret: "whsec_b2YgdGhlIGJlbmNobWFyayBvZiBhZGFwdGVycyE=" }),
    apple: {
      credentials: { bundle_id: "com.example.atlas", root_certificates: chain.x5c.slice(2) },
      signer: chain,
      msMax: 0.4,
    },
    google: { ...googlePush(), msMax: 0.3 },
  };
}

function googlePush() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const audience = "https://revenue.example/push";
  const email = "play-push@example-project.iam.gserviceaccount.com";
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "bench", alg: "RS256", use: "sig" };
  return {
    credentials: {
      audience,
      service_account_email: email,
      package_name: "com.example.atlas",
      jwks: { keys: [jwk] },
    },
    signer: { kid: "bench", privateKey, audience, email },
  };
}

async function measure(provider: Provider, { credentials, signer }: Signing) {
  const parsed = provider.credentials.parse(credentials);
  const { body, known } = fixtureOf(provider.token);
  const now = Date.now();
  const delivery = provider.sign(body, signer ?? parsed, now);
  async function once(): Promise<number> {
    const began = performance.now();
    const verdict = await provider.verify(delivery, [parsed], now);
    const read = parseBody(provider, delivery.body);
    if (!verdict.ok || !read.ok) throw new Error(`${provider.token}: not taken`);
    const heading = provider.heading(read.value, delivery.headers);
    const nativeId = heading?.nativeId ?? "";
    const when = { receivedAt: now, firstReceivedAt: now };
    const reported = provider.decode(read.value, { ...known, nativeId, ...when });
    const ms = performance.now() - began;
    if (reported.outcome !== "facts") throw new Error(`${provider.token}: no facts`);
    return ms;
  }
  const hmac = (): number => {
    const began = performance.now();
    createHmac("sha256", "the floor").update(delivery.body).digest("hex");
    return performance.now() - began;
  };
  for (let round = 0; round < warmUpRounds; round += 1) {
    await once();
    hmac();
  }
  const [all, floor]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    all.push(await once());
    floor.push(hmac());
  }
  return { ms: median(all), hmacMs: median(floor), bytes: delivery.body.length };
}

/**
 * A chain is verified once in a process: each round brings another, under a root that is pinned.
 * Apple's leaves last two years and its intermediates ten, so that a new leaf under a known
 * intermediate is the usual case. The floor: the signatures of P-384 in it, each in its thread.
 */
async function coldApple(
  what: string,
  signatures: number,
  makeChain: () => Signer,
): Promise<Figure> {
  const provider = createProviders(readConfig({})).get("apple");
  if (provider === undefined) throw new Error("no adapter for apple");
  const { body } = fixtureOf("apple");
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-384" });
  const certificate = Buffer.alloc(certificateBytes);
  const signature = sign("sha384", certificate, privateKey);
  const values: number[] = [];
  const floors: number[] = [];
  for (let round = 0; round < coldWarmUpRounds + coldRounds; round += 1) {
    const chain = makeChain();
    const credentials = provider.credentials.parse({
      bundle_id: "com.example.atlas",
      root_certificates: chain.x5c.slice(2),
    });
    const delivery = provider.sign(body, chain, Date.now());
    const began = performance.now();
    const verdict = await provider.verify(delivery, [credentials], Date.now());
    const read = parseBody(provider, delivery.body);
    if (!verdict.ok || !read.ok) throw new Error("apple: not taken");
    provider.decode(read.value);
    const ended = performance.now();
    const verified = Array.from({ length: signatures }, () =>
      verifyAside("sha384", certificate, publicKey, signature),
    );
    await Promise.all(verified);
    if (round < coldWarmUpRounds) continue;
    values.push(ended - began);
    floors.push(performance.now() - ended);
  }
  const name = `apple, verify and decode under ${what}`;
  const target = { valueMax: 1.5 };
  return { name, value: median(values), unit: "ms", floor: median(floors), target };
}

/** The one whose size is nearest to `bodyBytes`. */
function fixtureOf(token: ProviderToken): { body: Buffer; known: Known } {
  const folder = projectFile("providers", token, "fixtures");
  const [nearest] = readdirSync(folder)
    .filter((file) => /(?<!\.facts|\.answers|\.kept)\.(json|form)$/.test(file))
    .filter((file) => outcomeOf(folder, file) === "facts")
    .map((file) => ({ file, body: readFileSync(`${folder}/${file}`) }))
    .toSorted((one, other) => distance(one.body) - distance(other.body));
  if (nearest === undefined) throw new Error(`no fixture of ${token} reports facts`);
  const answers = `${folder}/${nameOf(nearest.file)}.answers.json`;
  const reported: object = existsSync(answers) ? JSON.parse(readFileSync(answers, "utf8")) : {};
  const known = { kept: new Map<string, unknown>(), answers: new Map(Object.entries(reported)) };
  return { body: nearest.body, known };
}

function distance(body: Buffer): number {
  return Math.abs(body.length - bodyBytes);
}

function outcomeOf(folder: string, file: string): unknown {
  const facts: unknown = JSON.parse(readFileSync(`${folder}/${nameOf(file)}.facts.json`, "utf8"));
  return typeof facts === "object" && facts !== null && "outcome" in facts ? facts.outcome : null;
}

function nameOf(file: string): string {
  return file.slice(0, file.lastIndexOf("."));
}
