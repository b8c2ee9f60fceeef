/** The metadata store on a server of this test's own: how it is let in, and what a break does. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { postgresTables, readTables, writeTables } from "../../stores/backup/postgres-part.js";
import { MigrationRefused, migratePostgres } from "../../stores/migrations.js";
import { openPostgres } from "../../stores/postgres/open.js";
import { shareOf, type Postgres, PostgresUnavailable } from "../../stores/postgres/postgres.js";
import { projectFile } from "../../runtime/project-root.js";
import { ConfigError } from "../../config.js";
import { startPostgres } from "../../ops/servers/postgres.js";
import type { LocalServer } from "../../ops/servers/server.js";
import { makeCertificate } from "../harness/certificate.js";
import { keptLog } from "../harness/kept-log.js";
import { listen } from "../harness/loopback.js";
import { rejection, latch } from "../harness/promises.js";
import { freePort } from "../harness/service-process.js";
import { suiteOnServers } from "../harness/real-servers.js";
import { testLogger } from "../harness/stores.js";
import { postgresConnectionsMax } from "../../stores/postgres/server.js";

const run = promisify(execFile);

describe("A Postgres server", function () {
  this.timeout(120_000);
  const own = suiteOnServers("postgres", ["postgres"], { takesTime: false });
  let port: number;
  let server: LocalServer;
  let postgres: Postgres;

  before(async () => {
    port = await freePort();
    const { key, certificate } = await makeCertificate(own.folder);
    // The server's user may read it.
    if (process.getuid?.() === 0) await run("chown", ["postgres", key]);
    await start({ ssl: "on", ssl_cert_file: certificate, ssl_key_file: key });
    postgres = await open();
    await postgres.query("CREATE ROLE guest LOGIN PASSWORD 'pw'");
    await postgres.query("CREATE ROLE reader LOGIN PASSWORD 'pw'");
    await postgres.query("ALTER ROLE reader SET default_transaction_read_only = on");
  });

  async function start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const folder = join(own.folder, "cluster");
    server = own.keep(await startPostgres({ folder, port, settings }));
  }

  /** @param change of the server's own URL */
  async function open(change: (url: URL) => void = () => undefined): Promise<Postgres> {
    const url = new URL(server.url);
    change(url);
    return own.keep(await openPostgres({ url: url.href }, testLogger));
  }

  /** Who logs in, and where. */
  const as =
    (user: string, database = "postgres") =>
    (url: URL) => {
      [url.username, url.password, url.pathname] = [user, "pw", `/${database}`];
    };

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
      as("reader"),
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
    const { logger, lines } = keptLog("info");
    const nobody = "postgres://u:p@127.0.0.1:1/d";
    const error = await rejection(openPostgres({ url: nobody, patienceMs: 1_500 }, logger));
    expect(error).to.be.instanceOf(ConfigError);
    expect(lines.join()).to.match(/waiting, .*DATABASE_URL: the server at 127\.0\.0\.1:1 cannot/);
  });

  it("should say in a sentence that a user may not make tables", async () => {
    const error = await rejection(migratePostgres(await open(as("guest")), testLogger));
    expect(error).to.be.instanceOf(MigrationRefused);
    expect(String(error)).to.match(/DATABASE_URL: this user may not make tables.*GRANT CREATE/);
  });

  it("should do all it does with the GRANTs of the manual", async () => {
    const manual = readFileSync(projectFile("docs", "operating.md"), "utf8");
    const block = /```\n(CREATE USER revenue [^`]*)```/.exec(manual)?.[1] ?? "";
    const [outside = "", inside = ""] = block.replace("…", "pw").split("\\connect revenue\n");
    for (const statement of outside.trim().split("\n")) await postgres.query(statement);
    const owner = await open((url) => (url.pathname = "/revenue"));
    await postgres.query("REVOKE ALL ON DATABASE revenue FROM PUBLIC");
    await owner.query("REVOKE ALL ON SCHEMA public FROM PUBLIC");
    await owner.query(inside.trim());
    const least = await open(as("revenue", "revenue"));
    await migratePostgres(least, testLogger);
    const files = join(own.folder, "tables");
    await mkdir(join(files, "postgres"), { recursive: true });
    await writeTables(least, files, postgresTables);
    await least.transaction((sql) => readTables(sql, files));
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
      });
      const { port: at, close } = await listen(refusing);
      const url = `postgres://u:p@127.0.0.1:${at}/d`;
      const error = await rejection(openPostgres({ url }, testLogger));
      await close();
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
      const opened = await open((url) => {
        url.searchParams.set("sslmode", sslmode);
        for (const [name, file] of Object.entries(more)) {
          url.searchParams.set(name, join(own.folder, file));
        }
      });
      const [row] = await opened.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
      expect(row).to.eql({ ssl: expected });
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
    await start();
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
    const files = join(own.folder, "slow");
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
