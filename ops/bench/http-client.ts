/** HTTP for what makes load: connections are kept, as many as there are calls under way. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";

export interface Call {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: a GET. */
  readonly body?: Buffer;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Calls under way; with more the service has stood still for seconds. */
const underWayMax = 4_000;

export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true });
  #underWay = 0;

  constructor(private readonly base: URL) {}

  /** @throws when as many calls as there may be are under way */
  async send({ path, headers, body }: Call): Promise<Answer> {
    if (this.#underWay >= underWayMax) {
      throw new Error(`more than ${underWayMax} calls under way: it does not keep up`);
    }
    this.#underWay += 1;
    try {
      const method = body === undefined ? "GET" : "POST";
      const sent = request(new URL(path, this.base), { method, headers, agent: this.#agent });
      sent.end(body);
      const [answer]: IncomingMessage[] = await once(sent, "response");
      if (answer?.statusCode === undefined) throw new Error("no answer");
      return { status: answer.statusCode, body: await buffer(answer) };
    } finally {
      this.#underWay -= 1;
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
