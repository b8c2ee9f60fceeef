/** Assistants that members connect: the calls of the dashboard, and those of OAuth. */
import { z } from "zod";
import { timestamp } from "./manage.js";

const environment = z.enum(["live", "test"]);
const request = z
  .string()
  .max(8_000)
  .describe("The query the program opened /connect with: an authorization request of OAuth 2.1");

export const readRequest = z.strictObject({ request });
export const connectRequest = z.object({
  client: z.string().describe("As the program calls itself"),
  client_host: z
    .string()
    .nullable()
    .describe("Who says so, in its document; null: it registered itself, under any name"),
  redirect_host: z.string().describe("Where the browser goes afterwards"),
  on_this_computer: z.boolean(),
  asks_to_write: z.boolean(),
  denied_to: z.string().describe("Where to send the browser of who says no"),
});
export type ConnectRequestView = z.infer<typeof connectRequest>;

export const newAssistant = z.strictObject({
  request,
  workspace: z.string().max(100),
  environment,
  may_write: z.boolean().describe("Alerts and annotations; needs the role admin"),
});
export const connected = z.object({
  id: z.string(),
  redirect_to: z.string().describe("Where to send the browser, with the code"),
});

export const assistant = z
  .object({
    id: z.string(),
    client: z.string().describe("As the program calls itself"),
    workspace: z.string(),
    member: z.string(),
    environment,
    may_write: z.boolean(),
    created_at: timestamp,
    last_used_at: timestamp.describe("Up to a minute behind"),
  })
  .meta({ id: "Assistant" });
export type AssistantView = z.infer<typeof assistant>;

/** RFC 7591; what else a program says of itself is not needed. */
export const newClient = z.object({
  redirect_uris: z.array(z.string().min(1).max(2_000)).min(1),
  client_name: z.string().max(1_000).optional(),
});
/** What a program whose id is an address says there. */
export const clientDocument = newClient.required().extend({ client_id: z.string() });

const field = z.string().min(1).max(2_000);
export const tokenRequest = z.discriminatedUnion("grant_type", [
  z.object({
    grant_type: z.literal("authorization_code"),
    client_id: field,
    code: field,
    redirect_uri: field,
    code_verifier: z.string().regex(/^[\w.~-]{43,128}$/, "must be 43 to 128 characters"),
    resource: field.optional(),
  }),
  z.object({
    grant_type: z.literal("refresh_token"),
    client_id: field,
    refresh_token: field,
    resource: field.optional(),
  }),
]);
export const revokeRequest = z.object({ client_id: field, token: field });

/** Of RFC 6749, with PKCE by S256 alone and the resource of RFC 8707. */
export const authorizationRequest = z.object({
  response_type: z.literal("code"),
  client_id: field,
  redirect_uri: field,
  code_challenge: z.string().regex(/^[\w-]{43}$/, "must be a SHA-256 in base64url"),
  code_challenge_method: z.literal("S256"),
  scope: z.string().max(500).optional(),
  state: z.string().max(2_000).optional(),
  resource: field.optional(),
});
