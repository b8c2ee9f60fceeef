/** The metadata store on a server of this test's own: how it is let in, and what a break does. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { pino } from "pino";
import { postgresTables, readTables, writeTables } from "../../stores/backup/postgres-part.js";
import { MigrationRefused, migratePostgres } from "../../stores/migrations.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { shareOf, type Postgres, PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { projectFile } from "../../runtime/project-root.js";
import { ConfigError } from "../../config.js";

import { startPostgres } from "../../ops/servers/postgres.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { makeCertificate } from "../harness/certificate.js";
import { rejection, latch } from "../harness/promises.js";
import { freePort } from "../harness/service-process.js";
import { type ServerFolder, needServers, openServerFolder } from "../harness/real-servers.js";
import { testLogger } from "../harness/stores.js";
import { postgresConnectionsMax } from "../../stores/postgres/server.js";

const run = promisify(execFile);

describe("A Postgres server", function () {
  this.timeout(120_000);
  let folder: ServerFolder;
  let port: number;
  let server: LocalServer;
  let postgres: Postgres;

  before(async function () {
    await needServers(this, "postgres");
    folder = await openServerFolder("postgres");
    port = await freePort();
    const { key, certificate } = await makeCertificate(folder.path);
    // The server's user may read it.
    if (process.getuid?.() === 0) await run("chown", ["postgres", key]);
    server = await startPostgres({
      folder: join(folder.path, "cluster"),
      port,
      settings: { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key },
    });
    postgres = await openPostgres({ url: server.url }, testLogger);
    await postgres.query("CREATE ROLE guest LOGIN PASSWORD 'pw'");
    await postgres.query("CREATE ROLE reader LOGIN PASSWORD 'pw'");
    await postgres.query("ALTER ROLE reader SET default_transaction_read_only = on");
  });
  after(async () => {
    await postgres?.close();
    await server?.stop();
    await folder?.remove();
  });

  it("should be there for others while a crowd has its share", async () => {
    const share = shareOf(postgres, 3);
    const [gone, go] = latch();
    const begun: number[] = [];
    const crowd = Array.from({ length: 3 * postgresConnectionsMax }, (_, number) =>
      share.transaction(async () => {
        begun.push(number);
        await gone;
        return number;
      }),
    );
    while (begun.length < 3) await postgres.query("SELECT 1");
    const [row] = await postgres.query<{ held: bigint }>(
      "SELECT count(*) AS held FROM pg_stat_activity WHERE state = 'idle in transaction'",
    );
    expect([row?.held, begun.length]).to.eql([3n, 3]);
    go();
    expect(await Promise.all(crowd)).to.eql([...crowd.keys()]);
  });

  const refusals: [what: string, change: (url: URL) => void, sentence: RegExp][] = [
    ["a wrong password", (url) => (url.password = "wrong"), /does not let the user "postgres" in/],
    ["an unknown user", (url) => (url.username = "nobody"), /does not let the user "nobody" in/],
    ["no such database", (url) => (url.pathname = "/none"), /no database "none".*createdb none/],
    ["no password", (url) => (url.password = ""), /asks for a password/],
    [
      "a file that is not there",
      (url) => (url.search = "?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"),
      /a file that it names cannot be read: .*\/nowhere\/ca\.pem/,
    ],
    [
      "a user who may not write",
      (url) => ([url.username, url.password] = ["reader", "pw"]),
      /takes no writes of the user "reader": name the primary/,
    ],
    ["nobody at the port", (url) => (url.port = "1"), /127\.0\.0\.1:1 cannot be reached/],
    ["no such host", (url) => (url.hostname = "db.invalid"), /db\.invalid:\d+ cannot be reached/],
    [
      "a certificate nobody vouches for",
      (url) => url.searchParams.set("sslmode", "verify-full"),
      /no encrypted connection.*sslmode/,
    ],
  ];
  for (const [what, change, sentence] of refusals) {
    it(`should say in a sentence without secrets what is wrong: ${what}`, async () => {
      const url = new URL(server.url);
      const { password } = url;
      change(url);
      const error = await rejection(openPostgres({ url: url.href, patienceMs: 0 }, testLogger));
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(sentence).and.not.include(password);
    });
  }

  it("should say what it waits for", async () => {
    const lines: string[] = [];
    const logger = pino({}, { write: (line) => void lines.push(line) });
    const nobody = "postgres://u:p@127.0.0.1:1/d";
    const error = await rejection(openPostgres({ url: nobody, patienceMs: 1_500 }, logger));
    expect(error).to.be.instanceOf(ConfigError);
    expect(lines.join()).to.match(/waiting, .*DATABASE_URL: the server at 127\.0\.0\.1:1 cannot/);
  });

  it("should say in a sentence that a user may not make tables", async () => {
    const url = new URL(server.url);
    [url.username, url.password] = ["guest", "pw"];
    const guest = await openPostgres({ url: url.href }, testLogger);
    const error = await rejection(migratePostgres(guest, testLogger));
    await guest.close();
    expect(error).to.be.instanceOf(MigrationRefused);
    expect(String(error)).to.match(/DATABASE_URL: this user may not make tables.*GRANT CREATE/);
  });

  it("should do all it does with the GRANTs of the manual", async () => {
    const manual = readFileSync(projectFile("docs", "operating.md"), "utf8");
    const block = /```\n(CREATE USER revenue [^`]*)```/.exec(manual)?.[1] ?? "";
    const [outside = "", inside = ""] = block.replace("…", "pw").split("\\connect revenue\n");
    for (const statement of outside.trim().split("\n")) await postgres.query(statement);
    const url = new URL(server.url);
    url.pathname = "/revenue";
    const owner = await openPostgres({ url: url.href }, testLogger);
    await postgres.query("REVOKE ALL ON DATABASE revenue FROM PUBLIC");
    await owner.query("REVOKE ALL ON SCHEMA public FROM PUBLIC");
    await owner.query(inside.trim());
    [url.username, url.password] = ["revenue", "pw"];
    const least = await openPostgres({ url: url.href }, testLogger);
    await migratePostgres(least, testLogger);
    const files = join(folder.path, "tables");
    await mkdir(join(files, "postgres"), { recursive: true });
    await writeTables(least, files, postgresTables);
    await least.transaction((sql) => readTables(sql, files));
    await least.close();
    await owner.close();
  });

  const answers: [what: string, state: string, text: string, sentence: RegExp][] = [
    [
      "a pooler that refuses startup parameters",
      "08P01",
      "unsupported startup parameter: statement_timeout",
      /the pooler at .* PgBouncer needs ignore_startup_parameters = statement_timeout,/,
    ],
    [
      "a pooler without transactions",
      "08P01",
      "transaction blocks not allowed in statement pooling mode",
      /the pooler at .* gives no transactions .*pool_mode = transaction/,
    ],
    [
      "a server that asks for encryption",
      "28000",
      'no pg_hba.conf entry for host "h", user "u", database "d", no encryption',
      /asks for an encrypted connection.*sslmode=require/,
    ],
  ];
  for (const [what, state, text, sentence] of answers) {
    it(`should report ${what}, and not wait for another`, async () => {
      const refusing = createServer((socket) => {
        socket.on("error", () => undefined);
        socket.once("data", () => socket.end(errorResponse(state, text)));
      }).listen(0, "127.0.0.1");
      await once(refusing, "listening");
      const address = refusing.address();
      if (address === null || typeof address === "string") throw new Error("it has no port");
      const url = `postgres://u:p@127.0.0.1:${address.port}/d`;
      const error = await rejection(openPostgres({ url }, testLogger));
      refusing.close();
      expect(error).to.be.instanceOf(ConfigError);
      expect(String(error)).to.match(sentence);
    });
  }

  const encrypted: [sslmode: string, more: Record<string, string>, expected: boolean][] = [
    ["disable", {}, false],
    ["require", {}, true],
    ["verify-full", { sslrootcert: "certificate.pem" }, true],
  ];
  for (const [sslmode, more, expected] of encrypted) {
    it(`should read sslmode=${sslmode} as psql does`, async () => {
      const url = new URL(server.url);
      url.searchParams.set("sslmode", sslmode);
      for (const [name, file] of Object.entries(more)) {
        url.searchParams.set(name, join(folder.path, file));
      }
      const opened = await openPostgres({ url: url.href }, testLogger);
      try {
        const [row] = await opened.query(
          "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
        );
        expect(row).to.eql({ ssl: expected });
      } finally {
        await opened.close();
      }
    });
  }

  it("should take a lost server as unavailable, in transactions too, and go on", async () => {
    await postgres.query("CREATE TABLE kept (n int4)");
    const cut = rejection(
      postgres.transaction(async (sql) => {
        await sql.query("INSERT INTO kept VALUES (1)");
        await server.stop();
        await sql.query("INSERT INTO kept VALUES (2)");
      }),
    );
    expect(await cut).to.be.instanceOf(PostgresUnavailable);
    expect(await rejection(postgres.query("SELECT 1"))).to.be.instanceOf(PostgresUnavailable);
    expect(await rejection(postgres.transaction(async () => undefined))).to.be.instanceOf(
      PostgresUnavailable,
    );
    server = await startPostgres({ folder: join(folder.path, "cluster"), port });
    expect(await postgres.query("SELECT * FROM kept")).to.eql([]);
    await postgres.transaction((sql) => sql.query("INSERT INTO kept VALUES (3)"));
    expect(await postgres.query("SELECT * FROM kept")).to.eql([{ n: 3 }]);
  });

  it("should take a statement that was ended for its time as unavailable", async () => {
    const error = await rejection(
      postgres.transaction(async (sql) => {
        await sql.query("SET LOCAL statement_timeout = 50");
        await sql.query("SELECT pg_sleep(5)");
      }),
    );
    expect(error).to.be.instanceOf(PostgresUnavailable);
  });

  it("should let a migration take longer than a statement may, and another one wait", async () => {
    const impatient = { url: server.url, statementMsMax: 200, answerMsMax: 400 };
    const starters = await Promise.all(
      Array.from({ length: 2 }, () => openPostgres(impatient, testLogger)),
    );
    const files = join(folder.path, "slow");
    await mkdir(files);
    await writeFile(join(files, "0001_slow.sql"), "SELECT pg_sleep(1);\nCREATE TABLE slow ();\n");
    try {
      await Promise.all(starters.map((one) => migratePostgres(one, testLogger, files)));
      const [again] = starters;
      expect(
        await rejection(again?.query("SELECT pg_sleep(1)") ?? Promise.resolve()),
      ).to.be.instanceOf(PostgresUnavailable);
      expect(await postgres.query("SELECT name FROM migrations")).to.eql([
        { name: "0001_slow.sql" },
      ]);
    } finally {
      await Promise.all(starters.map((one) => one.close()));
      await postgres.query("DROP TABLE IF EXISTS migrations, slow");
    }
  });
});

/** As the protocol has it (PostgreSQL, Message Formats): `E`, its length, fields. */
function errorResponse(state: string, text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${state}\0M${text}\0\0`);
  const head = Buffer.from("E0000");
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
