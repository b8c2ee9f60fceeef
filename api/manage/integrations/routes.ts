import { randomBytes } from "node:crypto";
import type { Context } from "koa";
import type { z } from "zod";
import { mayGrant } from "../../../http/auth.js";
import { readJson } from "../../../http/body.js";
import { malformed, notFound, unprocessable } from "../../../schemas/http/errors.js";
import { readQuery } from "../../../http/query.js";
import {
  type IntegrationRecord,
  changeIntegration,
  createIntegration,
  deleteIntegration,
  findIntegrationRecord,
  listIntegrations,
} from "../../../workspaces/integration-records.js";
import type { NeededOf } from "../../../workspaces/needed-events.js";
import type { Workspace } from "../../../workspaces/workspaces.js";
import { callerOf } from "../../../http/state.js";
import type { Service } from "../../../service.js";
import { limits } from "../../../config.js";
import type { Provider } from "../../../providers/provider.js";
import {
  changedIntegration,
  listQuery,
  newEndpoint,
  newIntegration,
} from "../../../schemas/http/manage.js";
import type { Cursors } from "../../reading/cursors.js";
import { endpointMade } from "./make-endpoint.js";
import { healthOf } from "./health.js";
import type { Calls } from "../calls.js";
import { markOf, openList, pageOf } from "../lists.js";
import { integrationView, storedEnvironment } from "../views.js";

const path = "/integrations";
const secretBytes = 32;

type Providers = ReadonlyMap<string, Provider>;

export function integrationRoutes(
  service: Service,
  calls: Calls<Workspace>,
  cursors: Cursors,
  providers: Providers,
  neededOf: NeededOf,
): void {
  const { postgres, vault } = service;
  const right = "manage";
  const view = (ctx: Context) => {
    const { PUBLIC_URL } = service.config;
    if (PUBLIC_URL === undefined && ctx.host === "") {
      throw malformed("host_missing", "A webhook URL begins with the Host of this call.", "Host");
    }
    const publicUrl = PUBLIC_URL ?? `${ctx.protocol}://${ctx.host}`;
    // Anyone who knows the URL can deliver to it, so only members who may connect a provider see
    // it.
    const isShown = mayGrant(callerOf(ctx), String(ctx.params.workspace), "admin");
    return (row: IntegrationRecord) =>
      integrationView(isShown ? row : { ...row, token: "…" }, publicUrl);
  };

  const connected = { right, action: "integration.created", status: 201 } as const;
  calls.write("POST", path, connected, async (ctx, workspace) => {
    const given = readJson(ctx, newIntegration);
    const provider = providerOf(providers, given.provider);
    const { made, credentials } =
      given.credentials === null && mustBeEntered(provider)
        ? { made: {}, credentials: null }
        : credentialsOf(provider, given.credentials ?? {});
    const created = await createIntegration(
      postgres,
      vault,
      workspace.id,
      {
        provider: provider.token,
        environment: storedEnvironment(given.environment),
        name: given.name ?? null,
        credentials,
      },
      new Date(),
    );
    return { ...view(ctx)(created), ...shownOnce(made) };
  });

  calls.answer("GET", path, { right: "look" }, async (ctx, { id }) => {
    const list = openList(ctx, { cursors, name: path, query: readQuery(ctx, listQuery) });
    const rows = await listIntegrations(postgres, vault, id, pageOf(list));
    const health = await healthOf(service, neededOf, id, rows, Date.now());
    const shown = view(ctx);
    return list.answer(rows, markOf, (row) => ({ ...shown(row), health: health(row.id) }));
  });

  const one = `${path}/:integration`;
  calls.write("PATCH", one, { right, action: "integration.changed" }, async (ctx, workspace) => {
    const found = await integrationOf(ctx, service, workspace);
    const given = readJson(ctx, changedIntegration);
    const provider = providerOf(providers, found.provider);
    const { made = {}, credentials } =
      given.credentials === undefined ? {} : credentialsOf(provider, given.credentials);
    const change = { name: given.name, credentials, expireOld: given.expire_old === true };
    if (!(await changeIntegration(postgres, vault, found.id, change, new Date()))) {
      throw rotatedOften();
    }
    service.integrations.forget();
    const changed = await integrationOf(ctx, service, workspace);
    return { ...view(ctx)(changed), ...shownOnce(made) };
  });

  calls.write(
    "POST",
    `${one}/endpoint`,
    { right, action: "integration.changed" },
    async (ctx, workspace) => {
      const found = await integrationOf(ctx, service, workspace);
      const { api_key: key } = readJson(ctx, newEndpoint);
      const provider = providerOf(providers, found.provider);
      const shown = view(ctx);
      const url = shown(found).webhook_url;
      const credentials = await endpointMade(service.config, provider, found, { url, key });
      const change = { credentials, expireOld: false };
      if (!(await changeIntegration(postgres, vault, found.id, change, new Date()))) {
        throw rotatedOften();
      }
      service.integrations.forget();
      return shown(await integrationOf(ctx, service, workspace));
    },
  );

  calls.write("DELETE", one, { right, action: "integration.deleted" }, async (ctx, workspace) => {
    const found = await integrationOf(ctx, service, workspace);
    await deleteIntegration(postgres, found.id, new Date());
    service.integrations.forget();
    return view(ctx)(found);
  });
}

/** @throws ApiError 404 */
export async function integrationOf(
  ctx: Context,
  { postgres, vault }: Service,
  workspace: Workspace,
): Promise<IntegrationRecord> {
  const id = String(ctx.params.integration);
  const found = await findIntegrationRecord(postgres, vault, workspace.id, id);
  if (found === null) throw notFound("integration_unknown", "There is no such integration.");
  return found;
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

/** @throws ApiError 422 naming the field that is missing, and where to find it */
function credentialsOf(provider: Provider, given: Readonly<Record<string, unknown>>): Credentials {
  const missing = Object.entries(provider.makes ?? {}).filter(([name]) => !(name in given));
  const made = Object.fromEntries(
    missing.map(([name, make]) => [name, make(randomBytes(secretBytes))] as const),
  );
  const result = provider.credentials.safeParse({ ...given, ...made });
  if (result.success) return { made, credentials: result.data };
  const { field, unknown } = wrongField(result.error);
  const param = `credentials.${field}`;
  const help = provider.credentialHelp[field];
  if (unknown) throw unprocessable("credential_unknown", `${param} is not known.`, param);
  throw unprocessable(
    "credential_invalid",
    `${param} is missing or wrong.${help === undefined ? "" : ` ${help}`}`,
    param,
  );
}

/** Never the value, which may be a secret. */
function wrongField(error: z.ZodError): { readonly field: string; readonly unknown: boolean } {
  const [issue] = error.issues;
  if (issue?.code === "unrecognized_keys") return { field: issue.keys[0] ?? "", unknown: true };
  return { field: issue?.path.join(".") ?? "", unknown: false };
}
