/**
 * A TCP proxy on loopback that fails on demand: what stands between the roles and one server. A
 * connection's bytes keep their order whatever happens to them.
 */
import { once } from "node:events";
import { createServer, connect, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  /** What comes is read and thrown away, in both directions. */
  isDeaf: boolean;
}

/** What every packet meets. */
export interface Weather {
  readonly delayMs: number;
  /** Infinity: as fast as it comes. */
  readonly bytesPerSecond: number;
}

export const fairWeather: Weather = { delayMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY };

export class Proxy {
  /** Of what comes and what goes, from now on. */
  weather: Weather = fairWeather;
  /** New connections are reset. */
  isParted = false;
  readonly #connections = new Set<Connection>();

  private constructor(
    private readonly listener: Server,
    readonly port: number,
    private readonly serverPort: number,
  ) {}

  /** @param port its own; 0: any that is free */
  static async open(port: number, serverPort: number): Promise<Proxy> {
    const listener = createServer({ noDelay: true });
    listener.listen(port, "127.0.0.1");
    await once(listener, "listening");
    const address = listener.address();
    if (address === null || typeof address === "string") throw new Error("not listening on a port");
    const proxy = new Proxy(listener, address.port, serverPort);
    listener.on("connection", (client) => proxy.#take(client));
    return proxy;
  }

  /** Resets connections, the first and every `nth` after it. */
  cut(nth: number): void {
    for (const [index, connection] of [...this.#connections].entries()) {
      if (index % nth === 0) end(connection);
    }
  }

  /** Those open now: nothing passes any more, and nobody is reported. */
  deafen(): void {
    for (const connection of this.#connections) connection.isDeaf = true;
  }

  /** As if nothing had been; what was deaf is reset, as by a machine that comes back. */
  heal(): void {
    this.weather = fairWeather;
    this.isParted = false;
    for (const connection of this.#connections) if (connection.isDeaf) end(connection);
  }

  async close(): Promise<void> {
    this.listener.close();
    this.cut(1);
    await once(this.listener, "close");
  }

  #take(client: Socket): void {
    client.on("error", () => undefined);
    if (this.isParted) {
      client.resetAndDestroy();
      return;
    }
    const server = connect({ port: this.serverPort, host: "127.0.0.1", noDelay: true });
    const connection: Connection = { client, server, isDeaf: false };
    this.#connections.add(connection);
    const forget = (): void => {
      if (client.closed && server.closed) this.#connections.delete(connection);
    };
    client.once("close", forget);
    server.once("close", forget);
    const broken = (): void => end(connection);
    server.on("error", broken);
    this.#pass(connection, client, server).catch(broken);
    this.#pass(connection, server, client).catch(broken);
  }

  async #pass(connection: Connection, from: Socket, to: Socket): Promise<void> {
    for await (const read of from) {
      if (!Buffer.isBuffer(read) || connection.isDeaf) continue;
      const { delayMs, bytesPerSecond } = this.weather;
      const heldMs = delayMs + (read.length / bytesPerSecond) * 1000;
      if (heldMs > 0) await pause(heldMs);
      if (connection.isDeaf) continue;
      if (!to.write(read)) await Promise.race([once(to, "drain"), once(to, "close")]);
    }
    if (!connection.isDeaf) to.end();
  }
}

function end({ client, server }: Connection): void {
  for (const socket of [client, server]) {
    if (!socket.destroyed) socket.resetAndDestroy();
  }
}
