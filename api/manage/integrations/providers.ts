/** `GET /v1/manage/providers`: what to enter to connect each provider, as its adapter says. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { projectFile } from "../../../runtime/project-root.js";
import type { Provider } from "../../../providers/provider.js";
import { type ProviderView, provider as shape } from "../../../schemas/http/manage.js";
import { ofInstallation } from "../calls.js";

type Field = ProviderView["credentials"][number];

export const providerRoutes = [
  ofInstallation.get("/providers", "What each provider needs", {
    right: "enter",
    answer: z.array(shape),
    run: ({ providers }) => viewsOf(providers),
  }),
];

/** They read pages, so each process makes them once. */
const viewsMade = new WeakMap<object, readonly ProviderView[]>();

function viewsOf(providers: ReadonlyMap<string, Provider>): readonly ProviderView[] {
  const views = viewsMade.get(providers) ?? [...providers.values()].map(providerView);
  viewsMade.set(providers, views);
  return views;
}

function providerView(provider: Provider): ProviderView {
  const { token } = provider;
  return {
    provider: token,
    name: titleOf(token),
    credentials: fieldsOf(provider),
    subscribe_to: [...provider.subscribeTo],
    asks_api: provider.api !== undefined,
    makes_endpoint: provider.endpoint !== undefined,
    history: provider.backfill !== undefined,
    history_missing: [...((provider.backfill ?? provider.historyExport)?.missing ?? [])],
    history_ids: provider.backfill?.byIds?.ids ?? null,
    history_export: provider.historyExport?.file ?? null,
    reports: provider.reports?.files ?? null,
    not_reconciled: provider.notReconciled ?? null,
    lists_payouts: provider.payouts !== undefined,
    fetches_payments: provider.paymentLookup !== undefined,
    docs_path: `/docs/providers/${token}`,
  };
}

/** As its page for merchants calls it. */
function titleOf(token: string): string {
  const page = readFileSync(projectFile("docs", "providers", `${token}.md`), "utf8");
  return /^# (.+)$/m.exec(page)?.[1] ?? token;
}

/** From the schema, so that the list cannot differ from what is checked. */
function fieldsOf({ credentials, credentialHelp, makes = {} }: Provider): Field[] {
  const { properties = {}, required = [] } = z.toJSONSchema(credentials, {
    io: "input",
    unrepresentable: "any",
  });
  return Object.entries(properties).map(([name, schema]) => {
    const made = Object.hasOwn(makes, name);
    const help = credentialHelp[name] ?? null;
    return { name, required: required.includes(name) && !made, made, ...inputOf(schema), help };
  });
}

function inputOf(schema: z.core.JSONSchema._JSONSchema): Pick<Field, "type" | "values"> {
  if (typeof schema === "boolean") return { type: "object", values: null };
  if (schema.type === "array") return { type: "list", values: null };
  const isText = schema.type === "string" || schema.anyOf !== undefined;
  return { type: isText ? "text" : "object", values: schema.enum?.map(String) ?? null };
}
