/** One call of a tool: asks the interface, and answers with the link that proves it. */
import { clocksIn, filled, objectOf, proofOf, textOf } from "../reading/proof-links.js";
import { tools } from "./tools.js";

/** Characters that a model can read at once. Pages and intervals make an answer shorter. */
const mcpAnswerLengthMax = 200_000;

interface Caller {
  readonly own: string;
  readonly shown: string;
  readonly authorization: string;
  readonly workspace: string;
  readonly environment: string;
}

/** @returns an error as a result, as the protocol demands: the model reads it and asks otherwise */
export async function askTool(
  caller: Caller,
  name: string,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return failed(`There is no tool ${name}.`);
  const args = new Map(Object.entries(given).map(([key, value]) => [key, textOf(value)]));
  const path = filled(tool.path, args);
  if (path === null) return failed(`${name} needs ${/\{(\w+)\}/.exec(tool.path)?.[1]}.`);
  const query = new URLSearchParams([...args].filter(([key]) => !tool.path.includes(`{${key}}`)));
  const response = await fetch(`${caller.own}${path}?${query.toString()}`, {
    headers: { authorization: caller.authorization, accept: "application/json" },
    signal,
  });
  const text = await response.text();
  if (!response.ok) return failed(text);
  if (text.length > mcpAnswerLengthMax) {
    return failed(
      `The answer has ${text.length} characters, ${mcpAnswerLengthMax} at most are sent. Ask ` +
        "for fewer rows, a longer interval or a shorter time.",
    );
  }
  const answer: unknown = JSON.parse(text);
  // The revision that counted, which the link goes on showing.
  const segment = response.headers.get("segment");
  if (segment !== null) args.set("segment", segment);
  const other = args.get("definition") ?? "ours";
  const isOurs = other === "ours";
  // The screen of retention shows each definition; of MRR the one that holds both side by side.
  const isShown = isOurs || tool.screen === "/retention";
  const proof = proofOf(caller, isShown ? tool.screen : "/mrr/definitions", args, answer);
  const page = isOurs ? `definitions.md#${tool.definition}` : `definitions/${other}.md`;
  const definition = `${caller.shown}/docs/${page}`;
  const said = { proof, definition, ...clocksIn(args, answer), ...objectOf(answer) };
  return { content: [textPart(JSON.stringify(said))] };
}

export function failed(text: string) {
  return { isError: true, content: [textPart(text)] };
}

export function textPart(text: string) {
  return { type: "text" as const, text };
}
