import { expect } from "chai";
import { createInvitation, listInvitations } from "../../workspaces/members/invitations.js";
import { findMember, join } from "../../workspaces/members/memberships.js";
import { endSession } from "../../workspaces/members/session-records.js";
import { openSessions } from "../../workspaces/members/sessions.js";
import { createUser } from "../../workspaces/members/users.js";
import { accountHasher } from "../../stores/vault/account-hash.js";
import { openRawEvent, sealRawEvent, SealBroken, openVault } from "../../stores/vault/vault.js";
import { changeIntegration, createIntegration } from "../../workspaces/integration-records.js";
import { openIntegrations } from "../../workspaces/integrations.js";
import { keepPreviousKey, leadsToAll, learnPreviousKeys } from "../../stores/vault/own-secrets.js";
import { resealSecrets } from "../../workspaces/reseal.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { limits } from "../../config.js";
import type { RawEventMeta } from "../../schemas/records/records.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { hourMs } from "../harness/days.js";
import { metaOf } from "../harness/facts.js";
import { rejection } from "../harness/promises.js";
import { openTestPostgres, testLogger } from "../harness/stores.js";

const key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
const otherKey = "ff".repeat(32);
const about = Buffer.from("about");

const account = ["ws_1", "live", "stripe", "cus_1"] as const;

/** Without anything sealed under another key. */
async function emptied(): Promise<Postgres> {
  const postgres = await openTestPostgres();
  await postgres.query("TRUNCATE users, invitations, integrations, sealed_secrets CASCADE");
  return postgres;
}

describe("Vault", () => {
  const vault = openVault(key);
  const sealed = vault.seal(Buffer.from("body"), about);

  it("should open what it sealed, in this process and in the next", () => {
    expect(vault.open(sealed, about).toString()).to.equal("body");
    expect(openVault(key).open(sealed, about).toString()).to.equal("body");
    expect(sealed.includes("body")).to.equal(false);
  });

  it("should seal an empty body and one of a mebibyte", () => {
    for (const plain of [Buffer.alloc(0), Buffer.alloc(1024 * 1024, 7)]) {
      expect(vault.open(vault.seal(plain, about), about).equals(plain)).to.equal(true);
    }
  });

  it("should never seal the same twice alike", () => {
    const seals = Array.from({ length: 100 }, () =>
      vault.seal(Buffer.from("x"), about).toString("hex"),
    );
    expect(new Set(seals).size).to.equal(seals.length);
  });

  it("should refuse when any single byte of the value was changed", () => {
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(() => vault.open(changed, about), `byte ${at}`).to.throw(SealBroken);
    }
  });

  it("should refuse what was cut short, and other associated data", () => {
    for (let length = 0; length < sealed.length; length++) {
      expect(() => vault.open(sealed.subarray(0, length), about)).to.throw(SealBroken);
    }
    expect(() => vault.open(sealed, Buffer.from("About"))).to.throw(SealBroken);
  });

  it("should open with the previous key after a rotation, and not without it", () => {
    const rotated = openVault(otherKey, key);
    expect(rotated.open(sealed, about).toString()).to.equal("body");
    expect(rotated.isCurrent(sealed)).to.equal(false);
    expect(rotated.isCurrent(rotated.seal(Buffer.from("body"), about))).to.equal(true);
    expect(() => openVault(otherKey).open(sealed, about)).to.throw(SealBroken);
  });

  it("should read the seals of more starts than it keeps keys of", () => {
    const seals = Array.from({ length: 600 }, (_, start) =>
      openVault(key).seal(Buffer.from(`start ${start}`), about),
    );
    for (const [start, one] of [...seals.entries(), ...seals.entries()]) {
      expect(vault.open(one, about).toString()).to.equal(`start ${start}`);
    }
  });

  it("should derive the same key for a purpose, and another for another", () => {
    const one = vault.deriveKey("cursors");
    expect(one).to.have.length(32);
    expect(openVault(key).deriveKey("cursors").equals(one)).to.equal(true);
    expect(vault.deriveKey("other").equals(one)).to.equal(false);
    expect(openVault(otherKey).deriveKey("cursors").equals(one)).to.equal(false);
  });

  it("should refuse a key that is no key", () => {
    for (const text of ["", "00", "g".repeat(64), "0".repeat(63)]) {
      expect(() => openVault(text)).to.throw("64 hexadecimal");
    }
  });
});

describe("The seal of a raw event", () => {
  const meta = metaOf({ integration: "int_1", received_at: 1_700_000_000_000 });
  const vault = openVault(key);
  const raw = sealRawEvent(vault, meta, Buffer.from("{}"));

  it("should open as it was sealed", () => {
    expect(openRawEvent(vault, raw).toString()).to.equal("{}");
  });

  const changes: Partial<RawEventMeta>[] = [
    { event_id: "evt_norm_2" },
    { workspace: "ws_2" },
    { environment: "test" },
    { provider: "paddle" },
    { integration: null },
    { form: "native" },
    { native_id: "evt_2" },
    { native_type: "charge.refunded" },
    { received_at: 1_700_000_000_001 },
    { verdict: "api_key" },
    { rates_edition: 2 },
    { first_received_at: 1_600_000_000_000 },
  ];
  for (const change of changes) {
    it(`should break when ${Object.keys(change)[0]} is another`, () => {
      const forged = { ...raw, meta: { ...meta, ...change } };
      expect(() => openRawEvent(vault, forged)).to.throw(SealBroken);
    });
  }

  it("should break when the first receipt of a replay is another, or is taken away", () => {
    const first_received_at = meta.received_at - 60_000;
    const replayed = sealRawEvent(vault, { ...meta, first_received_at }, Buffer.from("{}"));
    expect(openRawEvent(vault, replayed).toString()).to.equal("{}");
    for (const forged of [first_received_at - 1, null]) {
      const other = { ...replayed, meta: { ...meta, first_received_at: forged } };
      expect(() => openRawEvent(vault, other)).to.throw(SealBroken);
    }
  });
});

describe("The hash of an account", () => {
  it("should outlive a rotation of the vault key and need the previous one only once", async () => {
    const postgres = await emptied();
    const before = await accountHasher(postgres, openVault(key));
    const rotated = await accountHasher(postgres, openVault(otherKey, key));
    const later = await accountHasher(postgres, openVault(otherKey));
    const name = before(...account);
    expect(name).to.match(/^[0-9A-Za-z]{32}$/);
    expect(rotated(...account)).to.equal(name);
    expect(later(...account)).to.equal(name);
  });

  it("should differ by each of its parts, wherever one ends and the next begins", async () => {
    const hash = await accountHasher(await openTestPostgres(), openVault(otherKey));
    const names = [
      hash(...account),
      hash("ws_2", "live", "stripe", "cus_1"),
      hash("ws_1", "test", "stripe", "cus_1"),
      hash("ws_1", "live", "paddle", "cus_1"),
      hash("ws_1", "live", "stripe", "cus_2"),
      hash("ws_1", "live", "stripec", "us_1"),
    ];
    expect(new Set(names).size).to.equal(names.length);
  });
});

describe("Previous vault keys", () => {
  it("should be kept under the current one, rotation after rotation", async () => {
    const postgres = await emptied();
    const keys = [key, otherKey, "cd".repeat(32)] as const;
    const sealed = keys.map((hex) => openVault(hex).seal(Buffer.from(hex), about));
    const hash = await accountHasher(postgres, openVault(keys[0]));
    await resealSecrets(postgres, openVault(keys[1], keys[0]), keys[0]);
    await resealSecrets(postgres, openVault(keys[2], keys[1]), keys[1]);

    const vault = openVault(keys[2]);
    await learnPreviousKeys(postgres, vault);
    const opened = sealed.map((one) => vault.open(one, about).toString());
    expect(opened).to.deep.equal(keys);
    const later = await accountHasher(postgres, vault);
    expect(later(...account)).to.equal(hash(...account));
    expect(await resealSecrets(postgres, vault, keys[2])).to.equal(0);
    const wrong = await rejection(learnPreviousKeys(postgres, openVault(keys[0])));
    expect(String(wrong)).to.include("VAULT_ENCRYPTION_KEY");
    await emptied();
  });
});

describe("A rotation that was cut short", () => {
  it("should leave what the new key opens, once the old one is in the ring", async () => {
    const postgres = await emptied();
    const next = openVault(otherKey, key);
    const hash = await accountHasher(postgres, openVault(key));
    expect(await leadsToAll(postgres, openVault(key))).to.equal(true);
    expect(await leadsToAll(postgres, next)).to.equal(false);
    await keepPreviousKey(postgres, next, key);

    const later = openVault(otherKey);
    expect(await leadsToAll(postgres, later)).to.equal(true);
    await learnPreviousKeys(postgres, later);
    const name = (await accountHasher(postgres, later))(...account);
    expect(name).to.equal(hash(...account));
    expect(await leadsToAll(postgres, openVault(key))).to.equal(false);
    await emptied();
  });
});

describe("What is sealed of members", () => {
  it("should be sealed again after a rotation, so that the previous key may go", async () => {
    const postgres = await emptied();
    const [old, now] = [openVault(key), new Date()];
    const made = await createWorkspace(postgres, { name: "M", base_currency: "EUR" }, now);
    const given = { name: "Ada", email: "ada@example.com" };
    const user = await createUser(postgres, old, given, now);
    await join(postgres, made.id, user, "owner", now);
    const invited = { role: "viewer", email: "eve@example.com", domain: null } as const;
    await createInvitation(postgres, old, made.id, invited, now);
    const provider = { issuer: "i", subjectHash: Buffer.alloc(32), sidHash: null, idToken: "t" };
    const sessions = openSessions({ postgres, vault: old, logger: testLogger });
    const token = await sessions.begin(postgres, { user, by: "google", provider });

    expect(await leadsToAll(postgres, openVault(otherKey))).to.equal(false);
    expect(await resealSecrets(postgres, openVault(otherKey, key), key)).to.equal(4);
    const later = openVault(otherKey);
    expect(await leadsToAll(postgres, later)).to.equal(true);
    expect(await findMember(postgres, later, made.id, user)).to.include(given);
    const page = { rowsMax: 10, after: null };
    const [invitation] = await listInvitations(postgres, later, made.id, page, now);
    expect(invitation?.email).to.equal(invited.email);
    const session = await openSessions({ postgres, vault: later, logger: testLogger }).look(token);
    const ended = await endSession(postgres, later, user, session?.id ?? "");
    expect(ended?.idToken).to.equal(provider.idToken);
    expect(await resealSecrets(postgres, openVault(otherKey, key), key)).to.equal(0);
    await emptied();
  });
});

describe("The secrets of integrations", () => {
  const start = Date.UTC(2026, 0, 1);
  const old = openVault(key);
  const made = async () => {
    const postgres = await emptied();
    const now = new Date(start);
    const workspace = await createWorkspace(postgres, { name: "V", base_currency: "USD" }, now);
    const { id, token } = await createIntegration(
      postgres,
      old,
      workspace.id,
      { provider: "stripe", environment: "live", name: null, credentials: { secret: 1 } },
      now,
    );
    /** @param hour since it was made */
    const rotate = (secret: number, hour: number) =>
      changeIntegration(
        postgres,
        old,
        id,
        { credentials: () => ({ secret }), expireOld: false },
        new Date(start + hour * hourMs),
      );
    const counting = async (hour: number, vault = old) => {
      const integrations = openIntegrations({ postgres, vault, now: () => start + hour * hourMs });
      const found = await integrations.byToken(token);
      return found?.credentials;
    };
    return { postgres, id, rotate, counting };
  };

  it("should be sealed again after a rotation, so that the previous key may go", async () => {
    const { postgres, rotate, counting } = await made();
    await rotate(2, 0);
    await rotate(3, 1);

    const vault = openVault(otherKey);
    expect(await leadsToAll(postgres, vault)).to.equal(false);
    expect(await resealSecrets(postgres, openVault(otherKey, key), key)).to.equal(3);
    expect(await leadsToAll(postgres, vault)).to.equal(true);
    expect(await resealSecrets(postgres, vault, otherKey)).to.equal(0);
    expect(await counting(2, vault)).to.deep.equal([{ secret: 3 }, { secret: 2 }, { secret: 1 }]);
  });

  it("should be sealed again where none was replaced", async () => {
    const { postgres, counting } = await made();
    expect(await resealSecrets(postgres, openVault(otherKey, key), key)).to.equal(2);
    expect(await counting(0, openVault(otherKey))).to.deep.equal([{ secret: 1 }]);
  });

  it("should each count for a day after they were replaced", async () => {
    const { rotate, counting } = await made();
    await rotate(2, 0);
    await rotate(3, 12);
    await rotate(3, 20);
    expect(await counting(23)).to.deep.equal([{ secret: 3 }, { secret: 2 }, { secret: 1 }]);
    expect(await counting(25)).to.deep.equal([{ secret: 3 }, { secret: 2 }]);
    expect(await counting(37)).to.deep.equal([{ secret: 3 }]);
  });

  it("should be among those that count once, however often they are taken up again", async () => {
    const { rotate, counting } = await made();
    for (let hour = 0; hour < 12; hour += 1) await rotate(hour % 2 === 0 ? 2 : 1, hour);
    expect(await counting(12)).to.deep.equal([{ secret: 1 }, { secret: 2 }]);
  });

  it("should be no more than can be held against a delivery", async () => {
    const { rotate, counting } = await made();
    const most = limits.oldCredentialsMax + 1;
    for (let secret = 2; secret <= most; secret += 1)
      expect(await rotate(secret, 0)).to.equal(true);
    expect(await rotate(most + 1, 1)).to.equal(false);
    expect(await counting(1)).to.have.length(most);
    expect(await rotate(most + 1, 25)).to.equal(true);
    expect(await counting(25)).to.deep.equal([{ secret: most + 1 }, { secret: most }]);
  });
});
