import { randomBytes } from "node:crypto";
import type { z } from "zod";
import { mayGrant } from "../../../http/auth.js";
import { malformed, unprocessable } from "../../../schemas/http/errors.js";
import {
  type IntegrationRecord,
  changeIntegration,
  createIntegration,
  deleteIntegration,
  findIntegrationRecord,
  listIntegrations,
} from "../../../workspaces/integration-records.js";
import { callerOf } from "../../../http/state.js";
import { limits } from "../../../config.js";
import type { Provider } from "../../../providers/provider.js";
import {
  type IntegrationView,
  changedIntegration,
  createdIntegration,
  integration,
  listedIntegration,
  newEndpoint,
  newIntegration,
} from "../../../schemas/http/manage.js";
import { endpointMade } from "./make-endpoint.js";
import { healthOf } from "./health.js";
import { type Call, type Manage, named, ofWorkspace } from "../calls.js";
import { shownEnvironment, storedEnvironment } from "../environments.js";

const path = "/integrations";
const one = `${path}/{integration}`;
const secretBytes = 32;

type Providers = Manage["providers"];

export const integrationOf = named("integration", ({ postgres, vault, of }, id) =>
  findIntegrationRecord(postgres, vault, of.id, id),
);

export const integrationRoutes = [
  ofWorkspace.post(path, "Connect a provider account", {
    right: "manage",
    action: "integration.created",
    body: newIntegration,
    answer: createdIntegration,
    async run(call) {
      const { postgres, vault, providers, of, body: given } = call;
      const provider = providerOf(providers, given.provider);
      const { made, credentials } =
        given.credentials === null && mustBeEntered(provider)
          ? { made: {}, credentials: null }
          : credentialsOf(provider, given.credentials ?? {}, null);
      const created = await createIntegration(
        postgres,
        vault,
        of.id,
        {
          provider: provider.token,
          environment: storedEnvironment(given.environment),
          name: given.name ?? null,
          credentials,
        },
        new Date(),
      );
      return { ...viewFor(call)(created), ...shownOnce(made) };
    },
  }),
  ofWorkspace.list(path, "Connected provider accounts", {
    right: "look",
    row: listedIntegration,
    async read({ neededOf, of, ...service }, page) {
      const rows = await listIntegrations(service.postgres, service.vault, of.id, page);
      const health = await healthOf(service, neededOf, of.id, rows, Date.now());
      return rows.map((row) => ({ ...row, health: health(row.id) }));
    },
    view: ({ health, ...row }, call) => ({ ...viewFor(call)(row), health }),
  }),
  ofWorkspace.patch(one, "Change credentials one by one, rename", {
    right: "manage",
    action: "integration.changed",
    body: changedIntegration,
    answer: createdIntegration,
    find: integrationOf,
    async run(call) {
      const { postgres, vault, integrations, providers, found, body: given } = call;
      const provider = providerOf(providers, found.provider);
      const { credentials, name, expire_old: expireOld = false } = given;
      let made: Credentials["made"] = {};
      const merged = (current: unknown): unknown => {
        const whole = credentialsOf(provider, credentials ?? {}, current);
        ({ made } = whole);
        return whole.credentials;
      };
      const change = { name, credentials: credentials && merged, expireOld };
      if (!(await changeIntegration(postgres, vault, found.id, change, new Date()))) {
        throw rotatedOften();
      }
      integrations.forget();
      return { ...viewFor(call)(await integrationOf(call)), ...shownOnce(made) };
    },
  }),
  ofWorkspace.post(`${one}/endpoint`, "Make the webhook endpoint at the provider", {
    right: "manage",
    action: "integration.changed",
    body: newEndpoint,
    answer: integration,
    status: 200,
    errors: [409],
    find: integrationOf,
    async run(call) {
      const { config, postgres, vault, integrations, providers, found } = call;
      const { api_key: key } = call.body;
      const provider = providerOf(providers, found.provider);
      const shown = viewFor(call);
      const url = shown(found).webhook_url;
      const credentials = await endpointMade(config, provider, found, { url, key });
      const change = { credentials: () => credentials, expireOld: false };
      if (!(await changeIntegration(postgres, vault, found.id, change, new Date()))) {
        throw rotatedOften();
      }
      integrations.forget();
      return shown(await integrationOf(call));
    },
  }),
  ofWorkspace.delete(one, "Disconnect a provider account", {
    right: "manage",
    action: "integration.deleted",
    answer: integration,
    find: integrationOf,
    async run(call) {
      await deleteIntegration(call.postgres, call.found.id, new Date());
      call.integrations.forget();
      return viewFor(call)(call.found);
    },
  }),
];

function viewFor({ config: { PUBLIC_URL }, ctx, of }: Call) {
  if (PUBLIC_URL === undefined && ctx.host === "") {
    throw malformed("host_missing", "A webhook URL begins with the Host of this call.", "Host");
  }
  const publicUrl = PUBLIC_URL ?? `${ctx.protocol}://${ctx.host}`;
  // Anyone who knows the URL can deliver to it, so only members who may connect a provider see it.
  const isShown = mayGrant(callerOf(ctx), of.id, "admin");
  return (row: IntegrationRecord) =>
    integrationView(isShown ? row : { ...row, token: "…" }, publicUrl);
}

/** @param publicUrl the beginning of webhook URLs */
function integrationView(row: IntegrationRecord, publicUrl: string): IntegrationView {
  const { id, provider, name, token } = row;
  const webhook_path = `/v1/webhooks/${token}`;
  return {
    id,
    provider,
    environment: shownEnvironment(row.environment),
    name,
    webhook_url: `${publicUrl}${webhook_path}`,
    webhook_path,
    created_at: row.created_at.toISOString(),
    credentials_set: [...row.credentials_set],
    old_credentials_valid_until: row.previous_valid_until?.toISOString() ?? null,
  };
}

/** Whether there is a secret that only the provider can show. */
function mustBeEntered({ credentials, makes = {} }: Provider): boolean {
  return Object.keys(makes).length === 0 && !credentials.safeParse({}).success;
}

/** @throws ApiError 422 */
function providerOf(providers: Providers, token: string): Provider {
  const provider = providers.get(token);
  if (provider !== undefined) return provider;
  const known = [...providers.keys()].join(", ");
  throw unprocessable("provider_unknown", `provider must be one of: ${known}`, "provider");
}

function rotatedOften() {
  return unprocessable(
    "credentials_rotated_often",
    `There are ${limits.oldCredentialsMax} older credentials that still count. Wait until one ` +
      "ends, or end all of them at once with expire_old: true.",
    "credentials",
  );
}

function shownOnce(made: Readonly<Record<string, string>>): { credentials?: typeof made } {
  return Object.keys(made).length === 0 ? {} : { credentials: made };
}

interface Credentials {
  /** Secrets the adapter makes where none is given (`definitions.md`, Providers: custom). */
  readonly made: Readonly<Record<string, string>>;
  readonly credentials: unknown;
}

/**
 * What is given, over those it has. Null removes one, and so does an empty text, except where a
 * secret would be made in its place.
 * @param current null: none yet
 * @throws ApiError 422 naming the field that is missing, and where to find it
 */
function credentialsOf(
  provider: Provider,
  given: Readonly<Record<string, unknown>>,
  current: unknown,
): Credentials {
  const { makes = {} } = provider;
  // Kept as undefined, not dropped, so that an unknown name is refused even if its value is null.
  const changes = Object.entries(given).map(([name, value]) =>
    value === null || (value === "" && !Object.hasOwn(makes, name))
      ? ([name, undefined] as const)
      : ([name, value] as const),
  );
  const merged: Record<string, unknown> = Object.fromEntries([
    ...Object.entries(current ?? {}),
    ...changes,
  ]);
  const missing = Object.entries(makes).filter(
    ([name]) => changes.length === 0 || merged[name] === undefined,
  );
  const made = Object.fromEntries(
    missing.map(([name, make]) => [name, make(randomBytes(secretBytes))] as const),
  );
  const result = provider.credentials.safeParse({ ...merged, ...made });
  if (result.success) return { made, credentials: result.data };
  const { field, unknown, why } = wrongField(result.error);
  const param = `credentials.${field}`;
  const help = provider.credentialHelp[field];
  if (unknown) throw unprocessable("credential_unknown", `${param} is not known.`, param);
  throw unprocessable(
    "credential_invalid",
    `${param} is missing or wrong${why}.${help === undefined ? "" : ` ${help}`}`,
    param,
  );
}

/** Never the value, which may be a secret; an adapter's own check says what it wants. */
function wrongField(error: z.ZodError) {
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys") {
    return { field: issue.keys[0] ?? "", unknown: true, why: "" };
  }
  const why = issue?.code === "custom" ? `: ${issue.message}` : "";
  return { field: issue?.path.join(".") ?? "", unknown: false, why };
}
