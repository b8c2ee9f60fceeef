/** One call of a tool: asks the interface, and answers with the link that proves it. */
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
  return { content: [textPart(JSON.stringify({ proof, definition, ...objectOf(answer) }))] };
}

/** The screen with the same parameters, at both clocks of the answer, so it never changes. */
export function proofOf(
  {
    shown,
    workspace,
    environment,
  }: Readonly<Record<"shown" | "workspace" | "environment", string>>,
  screen: string,
  args: ReadonlyMap<string, string>,
  answer: unknown,
): string {
  const link = new URL(filled(screen, args) ?? screen, shown);
  const inPath = new Set([...screen.matchAll(/\{(\w+)\}/g)].map(([, key]) => key));
  for (const [key, value] of args) {
    if (!inPath.has(key) && !ofPages.has(key)) link.searchParams.set(key, value);
  }
  const { at, complete_to } = objectOf(answer);
  const knownAt = args.get("known_at") ?? args.get("to_known_at") ?? textOf(complete_to);
  const clocks = { at: textOf(at ?? knownAt), known_at: knownAt };
  for (const [key, value] of Object.entries({ workspace, environment, ...clocks })) {
    link.searchParams.set(key, value);
  }
  return link.toString();
}

/** They choose a part of a list; the screen shows all of it. */
const ofPages: ReadonlySet<string> = new Set(["limit", "cursor", "to_known_at"]);

/** @returns null when a parameter of the path is missing */
function filled(path: string, args: ReadonlyMap<string, string>): string | null {
  const missing = [...path.matchAll(/\{(\w+)\}/g)].some(([, key = ""]) => !args.get(key));
  if (missing) return null;
  return path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(args.get(key) ?? ""));
}

export function failed(text: string) {
  return { isError: true, content: [textPart(text)] };
}

export function textPart(text: string) {
  return { type: "text" as const, text };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}
