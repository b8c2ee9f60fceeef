/** Sign-in and sessions (`definitions.md`, Dashboard and sign-in): bodies, answers, queries. */
import { z } from "zod";
import { baseCurrency, name, timestamp } from "./manage.js";

export const role = z.enum(["viewer", "admin", "owner"]);
const token = z.string().min(1).max(200);

export const session = z.object({
  user: z.object({
    id: z.string(),
    name: z.string(),
    owns_installation: z.boolean().describe("May see audits, rates and backups"),
    creates_workspaces: z.boolean(),
  }),
  session_id: z.string(),
  workspaces: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      base_currency: baseCurrency,
      role,
    }),
  ),
});
export type SessionView = z.infer<typeof session>;

export const setup = z.strictObject({
  token: token.describe("What follows # in the link; counts once"),
  name: name.optional(),
});

export const openedInvitation = z.strictObject({ token: token.describe("Of an invitation") });
export const invited = z.object({
  workspace: z.string().describe("Its name"),
  role,
  inviter: z.string().nullable().describe("The name of a member; null: the administrator token"),
  expires_at: timestamp,
});
export type InvitedView = z.infer<typeof invited>;

export const signInProvider = z.object({
  name: z.string().describe("Sign-in begins at /auth/<name>"),
  label: z.string(),
});

export const listedSession = z.object({
  id: z.string(),
  current: z.boolean(),
  began_by: z.string().describe("A provider's name, passkey or link"),
  created_at: timestamp,
  last_seen_at: timestamp.describe("Up to a minute behind"),
  expires_at: timestamp,
});

export const signOut = z.object({
  redirect_to: z
    .string()
    .nullable()
    .describe("Where the identity provider ends its own session; null: nowhere"),
});

export const newIdentity = z.strictObject({
  provider: z.string(),
  return_to: z.string().max(2_000).optional(),
});
export const begunIdentity = z.object({ url: z.string().describe("Where to send the browser") });
export const identity = z.object({
  id: z.string(),
  provider: z.string(),
  created_at: timestamp,
});

const invitationToken = token.describe("Of an invitation, to join with this passkey");
export const passkeyOptionsRequest = z.strictObject({
  invitation: invitationToken.optional(),
  name: name.optional().describe("How others see who joins; with an invitation"),
});
/** As WebAuthn Level 3 has them in JSON; the browser makes and reads them. */
const webAuthnText = z.string().max(100_000);
const credential = {
  id: webAuthnText,
  rawId: webAuthnText,
  type: z.literal("public-key"),
  clientExtensionResults: z.looseObject({}),
};
const registrationResponse = z.looseObject({
  ...credential,
  response: z.looseObject({
    clientDataJSON: webAuthnText,
    attestationObject: webAuthnText,
    transports: z.array(z.string().max(50)).max(10).exactOptional(),
  }),
});
const authenticationResponse = z.looseObject({
  ...credential,
  response: z.looseObject({
    clientDataJSON: webAuthnText,
    authenticatorData: webAuthnText,
    signature: webAuthnText,
    userHandle: webAuthnText.exactOptional(),
  }),
});
export const newPasskey = z.strictObject({
  response: registrationResponse.describe("What `PublicKeyCredential.toJSON()` returns"),
  name: name.optional().describe("Of the passkey, for its list"),
});
export const passkey = z.object({
  id: z.string(),
  name: z.string().nullable(),
  created_at: timestamp,
  last_used_at: timestamp.nullable(),
});
export const passkeySignIn = z.strictObject({
  response: authenticationResponse.describe("What `PublicKeyCredential.toJSON()` returns"),
});

/** Of `GET /auth/<name>`. */
export const beginQuery = z.object({
  return_to: z.string().max(2_000).optional().describe("A path of the dashboard; `/` if left out"),
  invitation: z.string().min(1).max(200).optional().describe("The token of an invitation's URL"),
});
