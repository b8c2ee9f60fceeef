/** What the program says to the person who starts it, on standard error. */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { type Config, embeddedBackends } from "../../config.js";
import { baseCurrency } from "../../schemas/http/manage.js";
import { storeFolders } from "../../stores/data-folder.js";

const productName = "Revenue";

/** Said during the start, so that people know what they wait for. */
const startSteps = {
  database: "Preparing the database…",
  log: "Opening the log of events…",
  tables: "Preparing the tables of figures…",
  rates: "Loading exchange rates…",
  roles: "Almost there…",
} as const;
/** `port`: it is free, and nothing is opened yet. */
export type StartStep = "port" | keyof typeof startSteps;

/**
 * @param write takes what is said
 * @returns takes each step of the start; one that begins again says nothing twice
 */
export function saySteps(config: Config, write: (text: string) => void): (step: StartStep) => void {
  const { PORT: port, DATA_DIR: folder } = config;
  const said = new Set<StartStep>();
  const isEmbedded = embeddedBackends(config).length > 0;
  const isFirst = isEmbedded && !existsSync(join(folder, storeFolders.postgres));
  const address = port === 0 ? "A free port" : `http://localhost:${port}`;
  const patience = isFirst ? "; the first start can take half a minute" : "";
  return (step) => {
    if (said.has(step)) return;
    said.add(step);
    if (step === "port") write(`${address} opens in a moment${patience}.\n`);
    // What a process on servers waits for is in its log.
    else if (isEmbedded) write(`${startSteps[step]}\n`);
  };
}

export interface Greeted {
  readonly url: string;
  /** Null: all stores are servers. */
  readonly dataFolder: string | null;
  /** Secrets that this start made, as files. */
  readonly made: readonly string[];
  /** Null: the installation has an owner. */
  readonly setupToken: string | null;
  /** The administrator token as a shell writes it. */
  readonly adminToken: string;
}

/** For a process with the dashboard. */
export function greeting(given: Greeted): string {
  const { url, dataFolder, made, setupToken } = given;
  const lines = [
    `${productName} is ready. Running at ${url}`,
    "",
    ...row(
      "Sign in",
      ...(setupToken === null
        ? [url, "locked out? npm run ops -- sign-in-link"]
        : [`${url}/setup#${setupToken}`, "makes you the owner; works once, within an hour"]),
    ),
    ...row("Data", dataFolder ?? "on servers"),
    ...made.flatMap((file) => row("Made", `${shortPath(file)} (mode 0600; back it up)`)),
    ...row(
      "Next",
      setupToken === null
        ? "open the dashboard"
        : "open the link, name a workspace, connect a provider",
    ),
    ...row("API", `${url}/docs`),
    ...row("Stop", "Ctrl-C"),
  ];
  return `\n${lines.join("\n")}\n${made.length === 0 ? "" : firstCall(given)}\n`;
}

/** A name in its column; further lines stand below the first. */
function row(name: string, ...lines: readonly string[]): string[] {
  return lines.map((line, index) => `  ${(index === 0 ? name : "").padEnd(11)}${line}`);
}

function firstCall({ url, adminToken }: Greeted): string {
  return `
Without a browser:

  curl -s ${url}/v1/manage/workspaces \\
    -H "Authorization: Bearer ${adminToken}" \\
    -H "Content-Type: application/json" \\
    -d '{"name": "My company", "base_currency": "USD"}'

The base currency cannot be changed later: ${baseCurrency.options.join(", ")}.
`;
}

function shortPath(file: string): string {
  const near = relative(".", file);
  return near.startsWith("..") ? file : near;
}
