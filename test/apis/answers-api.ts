/**
 * A real HTTP server that speaks for any provider's API: who asks with a token gets the answers
 * that were reported for it, by path. It grants the tokens of Google's service accounts, too.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { serveHttp } from "../harness/loopback.js";
import { send } from "./stripe-api.js";

interface AnswersApi {
  readonly url: string;
  /** Parsed JSON by path and query; a path that is not there, or null, is 404. */
  readonly answers: Map<string, ReadonlyMap<string, unknown>>;
  /** Who speaks for a whole API, by token. */
  readonly speakers: Map<string, RequestListener>;
  /** Where a service account of this token is granted it. */
  tokenUri(token: string): string;
  answer(request: IncomingMessage, response: ServerResponse): void;
}

const tokenPath = "/token/";
const tokenSeconds = 3599;

export async function openAnswersApi(): Promise<AnswersApi> {
  const answers: AnswersApi["answers"] = new Map();
  const speakers: AnswersApi["speakers"] = new Map();
  const answer: AnswersApi["answer"] = (request, response) => {
    const path = request.url ?? "";
    if (path.startsWith(tokenPath)) {
      const token = path.slice(tokenPath.length);
      return send(response, 200, { access_token: token, expires_in: tokenSeconds });
    }
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    const speaker = speakers.get(token);
    if (speaker !== undefined) return speaker(request, response);
    const reported = answers.get(token);
    if (reported === undefined) return send(response, 401, {});
    const found = reported.get(path) ?? null;
    send(response, found === null ? 404 : 200, found ?? {});
  };
  const url = await serveHttp("answers api", answer);
  return { url, answers, speakers, answer, tokenUri: (token) => `${url}${tokenPath}${token}` };
}
