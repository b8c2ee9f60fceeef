/** Tools that write, for assistants whose member lets them: the same calls as the screens make. */
import { once } from "node:events";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { fieldError } from "../../http/body.js";
import { newAlert } from "../../schemas/http/outbound/alerts.js";
import { newAnnotation } from "../../schemas/http/members.js";
import { objectOf } from "../reading/proof-links.js";
import { failed, textPart } from "./ask.js";

interface Writer {
  /** Where this process itself answers. */
  readonly own: string;
  /** As the assistant called: links in what is made begin with it. */
  readonly host: string;
  readonly shown: string;
  readonly authorization: string;
  readonly workspace: string;
  readonly environment: string;
  readonly member: string | null;
}

interface WritingTool {
  readonly name: string;
  readonly title: string;
  readonly use: string;
  readonly input: z.ZodType;
  /** Below the workspace's own path of the management interface. */
  readonly path: string;
  /** Of the dashboard, where what was made is seen. */
  readonly screen: string;
  /** Left out: both. */
  readonly environment?: "live";
  body(given: unknown, writer: Writer): object;
}

const alertInput = z.strictObject({
  rule: newAlert.shape.rule,
  tell: z
    .enum(["email", "chat"])
    .optional()
    .describe("Who is told: the member by e-mail (if left out), or the workspace's chat channel"),
  quiet: newAlert.shape.quiet,
});

const writingTools: readonly WritingTool[] = [
  {
    name: "make_annotation",
    title: "Make an annotation",
    use: "Note what happened on a day, for everybody who looks at the charts of the workspace.",
    input: newAnnotation,
    path: "/annotations",
    screen: "/mrr/movements",
    body: (given) => newAnnotation.parse(given),
  },
  {
    name: "make_alert",
    title: "Make an alert",
    use:
      "Watch a figure, rejects, differences or the silence of a provider from now on, and tell " +
      "the member, or the chat channel, when the condition becomes true.",
    input: alertInput,
    path: "/alerts",
    screen: "/settings/alerts",
    environment: "live",
    body: (given, { member }) => {
      const { rule, tell = "email", quiet } = alertInput.parse(given);
      const channel = tell === "chat" ? { by: "chat" } : { by: "email", member };
      return { rule, channels: [channel], ...(quiet === undefined ? {} : { quiet }) };
    },
  },
];

/** Those of an assistant in this environment, as `tools/list` answers. */
export function writingToolList(environment: string) {
  return writingTools
    .filter((tool) => (tool.environment ?? environment) === environment)
    .map(({ name, title, use, input }) => ({
      name,
      title,
      description: `${use} Ask the person before you call it.`,
      inputSchema: { ...z.toJSONSchema(input, { io: "input" }), type: "object" as const },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    }));
}

/** @returns null: no tool that writes has this name */
export async function writeByTool(
  writer: Writer,
  name: string,
  given: Readonly<Record<string, unknown>>,
) {
  const { environment } = writer;
  const tool = writingTools.find((each) => each.name === name);
  if (tool === undefined || (tool.environment ?? environment) !== environment) return null;
  const checked = tool.input.safeParse(given);
  if (!checked.success) return failed(fieldError(checked.error).message);
  const path = `/v1/manage/workspaces/${writer.workspace}${tool.path}`;
  const answer = await post(writer, path, tool.body(given, writer));
  if (answer.status !== 201) return failed(answer.text);
  const link = new URL(tool.screen, writer.shown);
  link.searchParams.set("workspace", writer.workspace);
  link.searchParams.set("environment", environment);
  const made: unknown = JSON.parse(answer.text);
  return { content: [textPart(JSON.stringify({ link: link.href, ...objectOf(made) }))] };
}

/** By node:http, because `fetch` says another Host than the one that links are to begin with. */
async function post({ own, host, authorization }: Writer, path: string, body: object) {
  const headers = { host, authorization, "content-type": "application/json" };
  const call = request(`${own}${path}`, { method: "POST", headers });
  call.end(JSON.stringify(body));
  const [response] = await once(call, "response");
  return { status: Number(response.statusCode), text: await text(response) };
}
