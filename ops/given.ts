/** What every command of `npm run ops` is given. */
import type { parseArgs } from "node:util";
import type { Service } from "../service.js";
import type { Config } from "../config.js";
import type { LogUse } from "../stores/log/log.js";
import type { AuditFinding } from "../schemas/audit.js";

export interface Given {
  readonly config: Config;
  readonly options: Options;
  readonly steps: Steps;
  /** What is open when the command ends is closed. */
  readonly open: (config: Config, options?: OpenedAs) => Promise<Service>;
  readonly close: () => Promise<void>;
  readonly report: (line: string) => void;
}

export interface OpenedAs {
  readonly restoring?: boolean;
  readonly replaying?: boolean;
  readonly alone?: boolean;
  readonly logUse?: LogUse;
}

/** Of all commands; each takes some of them. */
export const optionTypes = {
  workspace: { type: "string" },
  repair: { type: "boolean" },
  from: { type: "string" },
  rejected: { type: "boolean" },
  integration: { type: "string" },
  to: { type: "string" },
  keep: { type: "string" },
  "with-key": { type: "boolean" },
  through: { type: "string" },
  file: { type: "string" },
  ids: { type: "string" },
  apply: { type: "boolean" },
} as const;

export type Options = ReturnType<typeof parseArgs<{ options: typeof optionTypes }>>["values"];

/** What the processors do; handed in, because roles do not know each other. */
export interface Steps {
  audit(
    service: Service,
    options: {
      readonly workspace: string | null;
      readonly repair: boolean;
      readonly shareMax: number;
    },
  ): Promise<AuditFinding[]>;
  /** Writes what is booked and not in the tables yet. */
  writeQueued(service: Service): Promise<void>;
  /** Makes the rows of the tables again that follow from the state. */
  rebuild(
    service: Service,
    workspace: string | null,
    report: (line: string) => void,
  ): Promise<void>;
  /** Starts the consumers of the log. */
  readonly startProcessors: (service: Service) => Promise<void>;
}
