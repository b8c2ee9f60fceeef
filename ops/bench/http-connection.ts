/**
 * A bare HTTP/1.1 client on one socket, one call at a time. The load generator shares two cores
 * with what it measures, so it must cost next to nothing.
 */
import assert from "node:assert";
import { once } from "node:events";
import { type Socket, connect } from "node:net";

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** @param headers besides Host and Content-Length */
export function requestBytes(
  method: "GET" | "POST",
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Buffer = Buffer.alloc(0),
): Buffer {
  const lines = Object.entries({ ...headers, "Content-Length": String(body.length) });
  const head = [`${method} ${path} HTTP/1.1`, "Host: localhost"]
    .concat(lines.map(([name, value]) => `${name}: ${value}`))
    .join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

export class HttpConnection {
  #received: Buffer = Buffer.alloc(0);
  #waiting: Waiting | null = null;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the server closed the connection")));
  }

  static async open(base: URL): Promise<HttpConnection> {
    const socket = connect(Number(base.port), base.hostname);
    await once(socket, "connect");
    return new HttpConnection(socket);
  }

  /** The server closes a connection that was idle for long. */
  get isOpen(): boolean {
    return this.socket.writable;
  }

  send(request: Buffer): Promise<Answer> {
    assert(this.#waiting === null, "one call at a time");
    if (!this.isOpen) return Promise.reject(new Error("the server closed the connection"));
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(request);
    });
  }

  close(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    this.#received = bytes;
    const headEnd = bytes.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const head = bytes.toString("latin1", 0, headEnd);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    assert(length !== undefined, "the servers measured here report the length of their answers");
    const bodyStart = headEnd + 4;
    const bodyEnd = bodyStart + Number(length);
    if (bytes.length < bodyEnd) return;
    const waiting = this.#waiting;
    this.#waiting = null;
    this.#received = bytes.subarray(bodyEnd);
    waiting?.resolve({
      status: Number(head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)),
      body: bytes.subarray(bodyStart, bodyEnd),
    });
  }
}

/** Calls under way; with more the service has stood still for seconds. */
const connectionsMax = 4_000;

/** Connections for calls that overlap: as many as are in flight, up to a maximum. */
export class ConnectionPool {
  readonly #idle: HttpConnection[] = [];
  readonly #all: HttpConnection[] = [];

  constructor(private readonly base: URL) {}

  /** @throws when as many calls as there may be connections are under way */
  async send(request: Buffer): Promise<Answer> {
    let connection = this.#idle.pop();
    while (connection?.isOpen === false) connection = this.#idle.pop();
    connection ??= await this.#open();
    const answer = await connection.send(request);
    this.#idle.push(connection);
    return answer;
  }

  close(): void {
    for (const connection of this.#all) connection.close();
  }

  async #open(): Promise<HttpConnection> {
    if (this.#all.filter(({ isOpen }) => isOpen).length >= connectionsMax) {
      throw new Error(`more than ${connectionsMax} calls under way: it does not keep up`);
    }
    const connection = await HttpConnection.open(this.base);
    this.#all.push(connection);
    return connection;
  }
}
