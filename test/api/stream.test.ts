/** The live stream, over real sockets to the real service; records put straight on its topic. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import { WebSocket, WebSocketServer } from "ws";
import { createCursors } from "../../api/reading/cursors.js";
import { Hub } from "../../api/stream/hub.js";
import { Subscriber } from "../../api/stream/subscriber.js";
import { openCatalogueView } from "../../workspaces/catalogue/view.js";
import { limits } from "../../config.js";
import { type StreamMessage, streamMessage } from "../../schemas/http/transactions.js";
import { type TransactionRecord, topics, transactionCodec } from "../../schemas/records/records.js";
import { expectError, openEndpoints, suiteEndpoints } from "../harness/endpoints.js";
import { transactionOf } from "../harness/facts.js";

const path = "/v1/events/stream";

describe("The live stream", () => {
  const endpoints = suiteEndpoints();
  const open: WebSocket[] = [];
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate();
  });

  interface Reader {
    readonly socket: WebSocket;
    /** Where it begins. */
    readonly cursor: string;
    readonly messages: StreamMessage[];
    readonly closed: Promise<number>;
    /** Resolves with the messages when there are as many. */
    until(count: number): Promise<StreamMessage[]>;
  }

  async function listen(query = "", key = endpoints.readKey): Promise<Reader> {
    const socket = new WebSocket(`${endpoints.base.replace("http", "ws")}${path}${query}`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    open.push(socket);
    const messages: StreamMessage[] = [];
    let wake = (): void => undefined;
    socket.on("message", (data: Buffer) => {
      messages.push(streamMessage.parse(JSON.parse(data.toString())));
      wake();
    });
    const closed = new Promise<number>((resolve) => socket.once("close", resolve));
    const upgraded = once(socket, "upgrade");
    await once(socket, "open");
    const [handshake] = await upgraded;
    return {
      socket,
      cursor: String(handshake.headers["x-cursor"]),
      messages,
      closed,
      until: async (count) => {
        while (messages.length < count) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        return messages;
      },
    };
  }

  /** Appends versions of transactions, spread over the partitions by id. */
  async function publish(...records: readonly Partial<TransactionRecord>[]): Promise<void> {
    await endpoints.service.log.append(
      topics.transactions,
      records.map((given) => {
        const record = transactionOf({ workspace: endpoints.workspace, ...given });
        return { key: record.id, value: transactionCodec.encode(record) };
      }),
    );
  }

  it("should push each new version as a transaction with its version and a cursor", async () => {
    const reader = await listen();
    await publish({ id: "tx_norm_1" });
    const [message] = await reader.until(1);
    expect(message).to.deep.include({
      id: "tx_norm_1",
      version: 1,
      provider: "stripe",
      product_name: "Pro",
      gross_amount: 19.99,
      normalized_amount: 18.3,
      fx_rate: 0.9155,
      status: "succeeded",
      timestamp: "2026-11-01T00:00:00.000Z",
    });
    expect(message?.cursor).to.match(/^[\w-]+$/);
  });

  it("should name what was bought with the first payment that reports it", async () => {
    const reader = await listen();
    const names = ["Workshop", "Talk", "Book"];
    for (const [index, name] of names.entries()) {
      await endpoints.record({
        event_type: "transaction.sale",
        amount: 10 + index,
        product_id: `sku_${index}`,
        product_name: name,
      });
      await reader.until(index + 1);
    }
    // On a log that is shared names have partitions of their own, and may come a moment later.
    const isShared = endpoints.service.log.shared;
    for (const [index, name] of names.entries()) {
      const reported = reader.messages[index]?.product_name;
      expect(reported).to.be.oneOf(isShared ? [name, `sku_${index}`] : [name]);
    }
  });

  it("should push what passes the filters, of its workspace and environment only", async () => {
    const other = await openEndpoints();
    const all = await listen();
    const filtered = await listen("?provider=apple&status=refunded");
    const several = await listen("?provider=apple,google&status=-disputed,-refunded");
    await publish(
      { id: "a", provider: "apple", status: "refunded" },
      { id: "b", provider: "apple" },
      { id: "c", status: "refunded" },
      { id: "d", backfill: true },
      { id: "e", workspace: other.workspace },
      { id: "f", environment: "test" },
      { id: "g", provider: "apple", status: "refunded" },
    );
    const ids = (messages: readonly StreamMessage[]) => messages.map(({ id }) => id);
    expect(ids(await all.until(4))).to.have.members(["a", "b", "c", "g"]);
    expect(ids(await filtered.until(2))).to.have.members(["a", "g"]);
    await publish({ id: "last", provider: "apple", status: "refunded" });
    expect(ids(await all.until(5))).to.include("last");
    expect(ids(await filtered.until(3))).to.include("last");
    expect([all.messages.length, filtered.messages.length]).to.deep.equal([5, 3]);
    expect(ids(await several.until(1))).to.deep.equal(["b"]);
  });

  it("should go on after a cursor without a gap and with nothing twice, under load", async () => {
    const ids = Array.from({ length: 600 }, (_, index) => `tx_${index}`);
    let reader = await listen();
    const publishing = (async () => {
      for (let from = 0; from < ids.length; from += 20) {
        await publish(...ids.slice(from, from + 20).map((id) => ({ id })));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    })();
    const seen: StreamMessage[] = [];
    // Reads some, is cut off, comes again; the last visit stays.
    for (let visit = 0; visit < 8; visit += 1) {
      await reader.until(10);
      reader.socket.terminate();
      seen.push(...reader.messages);
      reader = await listen(`?after=${seen.at(-1)?.cursor}`);
    }
    await publishing;
    seen.push(...(await reader.until(ids.length - seen.length)));
    await publish({ id: "end" });
    await reader.until(reader.messages.length + 1);
    expect(seen.map(({ id }) => id)).to.have.members(ids);
    expect(reader.messages.at(-1)?.id).to.equal("end");
  });

  it("should say where it begins: who is cut off before a message loses nothing", async () => {
    const filter = "provider=gumroad";
    const begun = await listen(`?${filter}`);
    begun.socket.terminate();
    await publish(
      { id: "tx_norm_missed", provider: "gumroad" },
      { id: "tx_norm_other", provider: "apple" },
    );
    const resumed = await listen(`?${filter}&after=${begun.cursor}`);
    await publish({ id: "tx_norm_live", provider: "gumroad" });
    const ids = (await resumed.until(2)).map(({ id }) => id);
    expect(ids).to.deep.equal(["tx_norm_missed", "tx_norm_live"]);
    expect(resumed.cursor).to.equal(begun.cursor);
  });

  it("should close 4410 a cursor whose messages are no longer kept", async () => {
    const reader = await listen();
    await publish({ id: "x" });
    const [message] = await reader.until(1);
    const { log } = endpoints.service;
    const earliest = log.earliest.bind(log);
    // What retention does, without waiting for days.
    log.earliest = async (topic) => (await earliest(topic)).map((offset) => offset + 10_000_000n);
    try {
      const late = await listen(`?after=${message?.cursor}`);
      expect(await late.closed).to.equal(4410);
    } finally {
      log.earliest = earliest;
    }
  });

  it("should close a reader that falls behind with 4408 and never slow the others", async () => {
    const slow = connect(Number(new URL(endpoints.base).port), "localhost");
    slow.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n` +
        `Authorization: Bearer ${endpoints.readKey}\r\n\r\n`,
    );
    await once(slow, "data");
    slow.pause();
    const quick = await listen();
    // More than the bound and what the kernels hold between them.
    const product_name = "x".repeat(60_000);
    const count = Math.ceil((limits.socketBufferedBytesMax + 12_000_000) / product_name.length);
    const big = Array.from({ length: count }, (_, index) => ({ id: `big_${index}`, product_name }));
    await publish(...big);
    await quick.until(count);
    expect(quick.messages).to.have.length(count);
    // The last frame is the close, with its code.
    const chunks: Buffer[] = [];
    slow.on("data", (chunk) => chunks.push(chunk));
    slow.resume();
    await once(slow, "close");
    const received = Buffer.concat(chunks);
    const close = received.lastIndexOf(code4408);
    // A close frame of less than 126 bytes: 0x88, length, code.
    expect(received[close - 2]).to.equal(0x88);
    expect(received.length).to.be.lessThan(count * product_name.length);
  });

  it("should cut off a peer that does not answer a ping, and keep one that does", async () => {
    const { service, workspace } = endpoints;
    const catalogues = openCatalogueView(service.postgres);
    const { hub, tail } = await Hub.open(service, createCursors(service.vault), catalogues);
    const server = new WebSocketServer({ port: 0 });
    await once(server, "listening");
    const address = server.address();
    if (typeof address === "string" || address === null) throw new Error("no port");
    const access = { workspace, environment: "live" } as const;
    /** Whether the peer is still there after the second ping. */
    const survives = async (autoPong: boolean): Promise<boolean> => {
      const peer = new WebSocket(`ws://localhost:${address.port}`, { autoPong });
      const [socket]: WebSocket[] = await once(server, "connection");
      if (socket === undefined) throw new Error("no socket");
      const subscriber = new Subscriber(socket, hub, service.log, access, {}, () => true);
      const ponged = autoPong ? once(socket, "pong") : once(peer, "ping");
      subscriber.ping();
      await ponged;
      subscriber.ping();
      const isOpen = socket.readyState === WebSocket.OPEN;
      peer.terminate();
      return isOpen;
    };
    try {
      expect(await survives(true)).to.equal(true);
      expect(await survives(false)).to.equal(false);
    } finally {
      server.close();
      await tail.close();
    }
  });

  it("should close 1009 a client that sends long messages, and ignore short ones", async () => {
    const reader = await listen();
    reader.socket.send("hello");
    await publish({ id: "after_hello" });
    expect((await reader.until(1))[0]?.id).to.equal("after_hello");
    reader.socket.send("x".repeat(100_000));
    expect(await reader.closed).to.equal(1009);
  });

  it("should close 1008 when the key is revoked", async () => {
    const { id, key } = await endpoints.newKey("Production");
    const reader = await listen("", key);
    await endpoints.manage("DELETE", `${endpoints.path}/keys/${id}`);
    expect(await reader.closed).to.equal(1008);
  });

  it("should refuse a key more sockets than it may have, with 429", async () => {
    const { key } = await endpoints.newKey("Production");
    for (let count = 0; count < limits.socketsPerKeyMax; count += 1) await listen("", key);
    expect(await refusal("", key)).to.equal("429 sockets_too_many");
    open.pop()?.close();
    await new Promise((resolve) => setTimeout(resolve, 200));
    await listen("", key);
  });

  const refusals: [what: string, query: string, error: string, key?: string | null][] = [
    ["no key", "", "401 key_missing", null],
    ["a malformed key", "", "401 key_malformed", "svc_live_short"],
    ["a key in the URL", `?key=svc_live_${"x".repeat(38)}`, "401 key_in_url"],
    ["an unknown parameter", "?surprise=1", "400 parameter_unknown"],
    ["an unknown provider", "?provider=venmo", "400 parameter_invalid"],
    ["a made-up cursor", "?after=bm90IGEgY3Vyc29y", "400 cursor_invalid"],
  ];
  for (const [what, query, error, given] of refusals) {
    it(`should refuse ${what} with ${error} before there is a socket`, async () => {
      const key = given === undefined ? endpoints.readKey : given;
      expect(await refusal(query, key)).to.equal(error);
    });
  }

  it("should refuse a cursor of another workspace", async () => {
    const other = await openEndpoints();
    const reader = await listen();
    await publish({ id: "mine" });
    const [message] = await reader.until(1);
    const refused = await refusal(`?after=${message?.cursor}`, other.readKey);
    expect(refused).to.equal("400 cursor_invalid");
  });

  it("should refuse a handshake that is none, and a call that does not ask for one", async () => {
    const old = { "sec-websocket-version": "7" };
    expect(await refusal("", endpoints.readKey, old)).to.equal("400 handshake_malformed");
    expectError(await endpoints.get(path), "400 upgrade_required");
  });

  /** Status and code of the HTTP answer to an upgrade. */
  async function refusal(query: string, key: string | null, more: object = {}) {
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...more,
    };
    const call = request(`${endpoints.base}${path}${query}`, { headers });
    call.on("upgrade", (_response, socket) => {
      call.destroy(new Error("it became a socket"));
      socket.destroy();
    });
    call.end();
    const [response]: IncomingMessage[] = await once(call, "response");
    if (response === undefined) throw new Error("no answer");
    const { error } = JSON.parse(await text(response));
    return `${response.statusCode} ${error.code}`;
  }
});

const code4408 = Buffer.from([0x11, 0x38]);
