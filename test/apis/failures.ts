/** How the API of a provider fails: for `misbehave` of the servers beside this file. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { send } from "./stripe-api.js";

export type Failure = (response: ServerResponse) => void;
type Misbehave = (request: IncomingMessage, response: ServerResponse) => boolean;

export function answered(status: number, body: unknown = {}, headers: object = {}): Failure {
  return (response) => send(response, status, body, headers);
}

export const tooMany = answered(429, {}, { "retry-after": "0" });
export const cut: Failure = (response) => void response.destroy();
export const cutWithin: Failure = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write("{", () => response.destroy());
};

/** @param under the beginning of paths; others are answered as they are otherwise */
export function always(failure: Failure, under = ""): Misbehave {
  return ({ url = "" }, response) => {
    if (!url.startsWith(under)) return false;
    failure(response);
    return true;
  };
}

/** A failure for each call; where it is null, and after the last, it is answered as otherwise. */
export function inTurn(failures: readonly (Failure | null)[]) {
  const misbehave = (_request: IncomingMessage, response: ServerResponse): boolean => {
    const failure = failures[misbehave.calls] ?? null;
    misbehave.calls += 1;
    failure?.(response);
    return failure !== null;
  };
  misbehave.calls = 0;
  return misbehave;
}
