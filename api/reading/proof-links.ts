/** Links that prove an answer. */

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
  for (const [key, value] of Object.entries({
    workspace,
    environment,
    ...clocksIn(args, answer),
  })) {
    link.searchParams.set(key, value);
  }
  return link.toString();
}

/** The two clocks of an answer. */
export function clocksIn(args: ReadonlyMap<string, string>, answer: unknown) {
  const { at, complete_to } = objectOf(answer);
  const knownAt = args.get("known_at") ?? args.get("to_known_at") ?? textOf(complete_to);
  return { at: textOf(at ?? knownAt), known_at: knownAt };
}

/** They choose a part of a list; the screen shows all of it. */
const ofPages: ReadonlySet<string> = new Set(["limit", "cursor", "to_known_at"]);

/** @returns null when a parameter of the path is missing */
export function filled(path: string, args: ReadonlyMap<string, string>): string | null {
  const missing = [...path.matchAll(/\{(\w+)\}/g)].some(([, key = ""]) => !args.get(key));
  if (missing) return null;
  return path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(args.get(key) ?? ""));
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}
