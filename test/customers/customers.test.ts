/** Who the accounts are: kept sealed, searched by hashes, erased for good. */
import { randomBytes } from "node:crypto";
import { expect } from "chai";
import {
  type Customers,
  type ReportedCustomer,
  openCustomers,
  setCustomerDetails,
} from "../../workspaces/customers/customers.js";
import {
  type CustomerReader,
  accountsCalled,
  customersOf,
  eraseCustomer,
} from "../../workspaces/customers/stored.js";
import type { Postgres } from "../../stores/postgres/postgres.js";
import { accountHasher, type HashAccount } from "../../stores/vault/account-hash.js";
import { type Vault, openVault } from "../../stores/vault/vault.js";
import { createWorkspace } from "../../workspaces/workspaces.js";
import { providers } from "../harness/provider-cases.js";
import { openTestService } from "../harness/service.js";

const at = Date.UTC(2026, 5, 1);
const hour = 60 * 60 * 1000;

describe("Customers", () => {
  let postgres: Postgres;
  let vault: Vault;
  let hashAccount: HashAccount;
  let reader: CustomerReader;
  let workspace: string;
  let customers: Customers;
  /** Statements of `customers`. */
  let statements: string[];

  const open = () =>
    openCustomers({
      postgres: {
        ...postgres,
        query: (sql, values) => (statements.push(sql), postgres.query(sql, values)),
      },
      vault,
      hashAccount,
    });
  const told = (named: Partial<ReportedCustomer["named"]>, of = workspace): ReportedCustomer => ({
    workspace: of,
    environment: "live",
    provider: "stripe",
    named: { account: "cus_1", id: "cus_1", name: null, email: null, at, ...named },
  });
  const accountOf = (of = workspace) => hashAccount(of, "live", "stripe", "cus_1");
  const shown = async (of = workspace) => {
    const account = accountOf(of);
    return (await customersOf(reader, { workspace: of, environment: "live" }, [account])).get(
      account,
    );
  };
  const found = (text: string, of = workspace) =>
    accountsCalled(reader, { workspace: of, environment: "live" }, text);
  const newWorkspace = async () =>
    (await createWorkspace(postgres, { name: "Names", base_currency: "EUR" }, new Date())).id;
  const ada = { name: "Ada", email: "Ada@Example.com" };

  before(async function () {
    this.timeout(60_000);
    ({ postgres, vault } = (await openTestService()).service);
    hashAccount = await accountHasher(postgres, vault);
    reader = { postgres, vault, providers, hashAccount };
  });
  beforeEach(async () => {
    statements = [];
    workspace = await newWorkspace();
    customers = open();
  });

  it("should be read as they were told, with a link to the provider's page", async () => {
    await customers.keep([told(ada)]);
    expect(await shown()).to.deep.equal({
      id: "cus_1",
      ...ada,
      provider_url: "https://dashboard.stripe.com/customers/cus_1",
    });
  });

  it("should be found by an exact id or e-mail, however that is written", async () => {
    await customers.keep([told(ada)]);
    for (const text of ["cus_1", "ada@example.com", " ADA@example.COM "]) {
      expect(await found(text), text).to.deep.equal([accountOf()]);
    }
    for (const text of ["Ada", "cus_", "example.com", "bob@example.com"]) {
      expect(await found(text), text).to.deep.equal([]);
    }
  });

  it("should lie in Postgres sealed and hashed", async () => {
    await customers.keep([told(ada)]);
    const [row] = await postgres.query<{ text: string }>(
      "SELECT row_to_json(c)::text AS text FROM customers c WHERE workspace = $1",
      [workspace],
    );
    const { sealed } = JSON.parse(row?.text ?? "{}");
    const bytes = Buffer.from(String(sealed).slice(2), "hex").toString("latin1");
    for (const text of ["cus_1", "Ada", "example"]) expect(row?.text + bytes).not.to.include(text);
  });

  it("should cost no statement while nothing is new, and one where somebody is", async () => {
    await customers.keep([told(ada), told({ account: "cus_2", id: "cus_2" })]);
    expect(statements.filter((sql) => sql.startsWith("INSERT"))).to.have.lengthOf(1);
    statements = [];
    await customers.keep([told({ ...ada, at: at + hour }), told({}), told({ account: "cus_2" })]);
    expect(statements).to.deep.equal([]);
  });

  for (const [what, again] of [
    ["in one batch", (all: ReportedCustomer[]) => customers.keep(all)],
    [
      "one by one",
      async (all: ReportedCustomer[]) => {
        for (const one of all) await customers.keep([one]);
      },
    ],
    [
      "by processes that know nothing of each other",
      async (all: ReportedCustomer[]) => {
        for (const one of all) await open().keep([one]);
      },
    ],
  ] as const) {
    it(`should have of each field the newest, told in any order, ${what}`, async () => {
      const news = [
        told({ name: "Ada Lovelace", at: at + 2 * hour }),
        told({ name: "Ada Byron", email: "ada@byron.example", at }),
        told({ email: "ada@lovelace.example", at: at + hour }),
        told({ name: "A Card", email: "card@example.com", at: at + 9 * hour, ofPayment: true }),
      ];
      for (const order of [news, news.toReversed()]) {
        workspace = await newWorkspace();
        await again(order.map((one) => ({ ...one, workspace })));
        const { name, email } = (await shown()) ?? {};
        expect({ name, email }).to.deep.equal({
          name: "Ada Lovelace",
          email: "ada@lovelace.example",
        });
      }
      expect(await found("ada@byron.example"), "the old one is no more").to.deep.equal([]);
    });
  }

  it("should take a name on a payment where nothing else says one", async () => {
    await customers.keep([told({ ...ada, ofPayment: true })]);
    expect((await shown())?.name).to.equal("Ada");
    await customers.keep([told({ name: "Ada Lovelace", at: at - hour })]);
    expect((await shown())?.name).to.equal("Ada Lovelace");
  });

  it("should leave out what cannot be kept, and keep the rest", async () => {
    await customers.keep([
      told({ name: "A\0da", email: "x".repeat(501) }),
      told({ name: "\ud800" }),
    ]);
    expect(await shown()).to.deep.include({ id: "cus_1", name: null, email: null });
  });

  it("should be those of one workspace only", async () => {
    const other = await newWorkspace();
    await customers.keep([told(ada), told({ name: "Bob", email: "bob@example.com" }, other)]);
    expect(await found("cus_1")).to.deep.equal([accountOf()]);
    expect(await found("bob@example.com")).to.deep.equal([]);
    const scope = { workspace, environment: "live" } as const;
    expect(await customersOf(reader, scope, [accountOf(other)])).to.deep.equal(new Map());
  });

  it("should be those of one environment only", async () => {
    await customers.keep([{ ...told(ada), environment: "test" }]);
    expect(await found("cus_1")).to.deep.equal([]);
    expect(await found("ada@example.com")).to.deep.equal([]);
    expect(await shown()).to.equal(undefined);
  });

  it("should stay erased, whoever tells of them again", async () => {
    await customers.keep([told(ada)]);
    await eraseCustomer(postgres, workspace, accountOf());
    expect(await shown()).to.equal(undefined);
    await customers.keep([told(ada), told({ name: "Ada Lovelace", at: at + hour })]);
    await open().keep([told({ name: "Ada Lovelace", at: at + 2 * hour })]);
    expect(await shown()).to.equal(undefined);
    expect(await found("ada@example.com")).to.deep.equal([]);
    const rows = await postgres.query<object>("SELECT * FROM customers WHERE workspace = $1", [
      workspace,
    ]);
    const nothing = { environment: null, provider: null, id_hash: null, email_hash: null };
    expect(rows).to.deep.equal([
      { workspace, account: accountOf(), ...nothing, sealed: null, told_at: null },
    ]);
  });

  it("should be erased by one workspace alone, and before anything was told", async () => {
    const other = await newWorkspace();
    await eraseCustomer(postgres, other, accountOf());
    await customers.keep([told(ada)]);
    expect((await shown())?.name).to.equal("Ada");
    await eraseCustomer(postgres, other, accountOf(other));
    await customers.keep([told(ada, other)]);
    expect(await shown(other)).to.equal(undefined);
  });

  it("should be gone when the workspace keeps nothing, and come back when told again", async () => {
    await customers.keep([told(ada), told({ account: "cus_2", id: "cus_2" })]);
    await eraseCustomer(postgres, workspace, hashAccount(workspace, "live", "stripe", "cus_2"));
    await setCustomerDetails(postgres, workspace, "off");
    const count = async () => {
      const rows = await postgres.query<{ sealed: Buffer | null }>(
        "SELECT sealed FROM customers WHERE workspace = $1",
        [workspace],
      );
      return rows.map(({ sealed }) => sealed !== null);
    };
    expect(await count(), "only the mark stays").to.deep.equal([false]);
    // A process that has not heard of it yet, and one that has.
    await customers.keep([told({ ...ada, account: "cus_3", id: "cus_3" })]);
    await open().keep([told(ada)]);
    expect(await count()).to.deep.equal([false]);

    const attentive = openCustomers({ postgres, vault, hashAccount }, 0);
    await setCustomerDetails(postgres, workspace, "members");
    await attentive.keep([told(ada)]);
    await setCustomerDetails(postgres, workspace, "off");
    expect(await count()).to.deep.equal([false]);
    await setCustomerDetails(postgres, workspace, "members");
    await attentive.keep([told(ada)]);
    expect((await shown())?.name, "by who remembers it from before").to.equal("Ada");
    await setCustomerDetails(postgres, workspace, "off");
    await setCustomerDetails(postgres, workspace, "admins");
    await open().keep([told(ada), told({ account: "cus_2", id: "cus_2" })]);
    expect(await count()).to.have.members([true, false]);
    expect((await shown())?.name).to.equal("Ada");
  });

  it("should be opened by the key before, and by nobody who swaps rows", async () => {
    const [key, next] = [randomBytes(32).toString("hex"), randomBytes(32).toString("hex")];
    const before = openCustomers({ postgres, vault: openVault(key), hashAccount });
    await before.keep([told(ada), told({ account: "cus_2", id: "cus_2", name: "Bob" })]);
    reader = { ...reader, vault: openVault(next, key) };
    expect((await shown())?.name).to.equal("Ada");
    const other = hashAccount(workspace, "live", "stripe", "cus_2");
    await postgres.query(
      `UPDATE customers SET sealed = (SELECT sealed FROM customers WHERE account = $2)
       WHERE account = $1`,
      [accountOf(), other],
    );
    const [swapped] = await Promise.allSettled([shown()]);
    expect(swapped.status).to.equal("rejected");
    reader = { ...reader, vault };
  });
});
