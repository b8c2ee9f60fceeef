/** Settings > Integrations: the list, the wizard, and one of them; by the path. */
import type { ListedIntegration, One, ProviderView } from "../../../api/manage-answers.js";
import { useUrl } from "../../../api/use-answer.js";
import { Empty, Failure, SkeletonTable } from "../../../parts/states.js";
import { useView } from "../../../state/view.js";
import { useList, useManagePath, useMayManage } from "../manage.js";
import { Integration } from "./integration.js";
import { NewIntegration } from "./new.js";
import { Payouts } from "./payouts.js";
import { count } from "../../../format/numbers.js";
import { Table } from "../../../parts/table.js";
import { When } from "../../../parts/when.js";
import { Health } from "./health.js";
import { OpenDemo } from "../../../parts/open-demo.js";

/** More than that nobody connects to one workspace. */
const rowsMax = "200";

export function Integrations() {
  const view = useView();
  const path = `${useManagePath()}/integrations`;
  const isManager = useMayManage();
  const providers = useUrl<One<readonly ProviderView[]>>("/v1/manage/providers");
  const list = useList<ListedIntegration>(path, { limit: rowsMax });
  const error = providers.error ?? list.error;
  if (error !== null) return <Failure error={error} />;
  if (providers.answer === null || list.isLoading) return <SkeletonTable rows={4} columns={5} />;
  const known = providers.answer.data;
  const [wanted, part] = view.path.split("/").slice(3);
  if (wanted === "new" && !isManager) {
    return (
      <Empty title="Not for your role">
        Ask an administrator of this workspace to connect a provider.
      </Empty>
    );
  }
  if (wanted === "new") {
    const provider = known.find(({ provider: token }) => token === view.get("connect"));
    return provider === undefined ? (
      <ProviderChoice providers={known} />
    ) : (
      <NewIntegration key={provider.provider} provider={provider} path={path} />
    );
  }
  if (wanted !== undefined) {
    const found = list.rows.find(({ id }) => id === wanted);
    const provider = known.find(({ provider: token }) => token === found?.provider);
    if (found === undefined || provider === undefined) {
      return (
        <Empty
          title="There is no such integration"
          action={{ href: view.to("/settings/integrations"), label: "All integrations" }}
        >
          It was deleted, or belongs to another workspace.
        </Empty>
      );
    }
    const of = { integration: found, provider, path: `${path}/${found.id}` };
    return part === "payouts" && provider.lists_payouts ? (
      <Payouts key={found.id} {...of} />
    ) : (
      <Integration key={found.id} {...of} />
    );
  }
  if (list.rows.length === 0 && isManager) return <ProviderChoice providers={known} />;
  return <IntegrationList rows={list.rows} providers={known} />;
}

/** Every integration with its health. */
function IntegrationList(props: {
  readonly rows: readonly ListedIntegration[];
  readonly providers: readonly ProviderView[];
}) {
  const view = useView();
  const isManager = useMayManage();
  const nameOf = (token: string): string =>
    props.providers.find(({ provider }) => provider === token)?.name ?? token;
  if (props.rows.length === 0) {
    return (
      <Empty title="No provider is connected">
        Ask an administrator of this workspace to connect one.
      </Empty>
    );
  }
  return (
    <>
      <div class="section-head">
        <p class="soft">Provider accounts whose events arrive here.</p>
        {isManager ? (
          <a class="button primary" href={view.to("/settings/integrations/new")}>
            Connect a provider
          </a>
        ) : null}
      </div>
      <Table
        caption="Integrations"
        rows={props.rows}
        rowKey={({ id }) => id}
        columns={[
          {
            head: "Integration",
            cell: (row) => (
              <>
                <a href={view.to(`/settings/integrations/${row.id}`)}>
                  {row.name ?? nameOf(row.provider)}
                </a>
                {row.name === null ? null : <div class="soft small">{nameOf(row.provider)}</div>}
              </>
            ),
          },
          { head: "Environment", cell: ({ environment }) => environment },
          { head: "Health", cell: (row) => <Health of={row} /> },
          { head: "Last delivery", cell: ({ health }) => <When at={health.last_delivery_at} /> },
          {
            head: "Last reject",
            cell: ({ health }) => <When at={health.last_reject_at} none="None" />,
          },
          {
            head: "Open rejects",
            isNumber: true,
            cell: ({ health }) =>
              health.open_rejects === 0 ? (
                "0"
              ) : (
                <a href={view.to("/settings/rejects")}>{count(health.open_rejects)}</a>
              ),
          },
        ]}
      />
    </>
  );
}

/** In an empty workspace, the first thing to do. */
function ProviderChoice({ providers }: { readonly providers: readonly ProviderView[] }) {
  const view = useView();
  return (
    <>
      <h2 class="step-title">Which provider sells for you?</h2>
      <ul class="provider-choice">
        {providers.map((provider) => (
          <li key={provider.provider}>
            <a href={view.to("/settings/integrations/new", { connect: provider.provider })}>
              <strong>{provider.name}</strong>
              <span class="soft small">{summaryOf(provider)}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="soft">Or look at two years of an invented business first:</p>
      <OpenDemo />
    </>
  );
}

function summaryOf({ provider, credentials, history }: ProviderView): string {
  if (provider === "custom") return "Events that your own systems send. Needs no secret";
  const needed = credentials.filter(({ required }) => required).length;
  const isMade = credentials.some(({ made }) => made);
  const entries =
    needed === 0
      ? isMade
        ? "Needs no secret"
        : "Needs one of two secrets"
      : needed === 1
        ? "Needs one secret"
        : `Needs ${needed} values`;
  return history ? `${entries}. Reads your history, too` : entries;
}
