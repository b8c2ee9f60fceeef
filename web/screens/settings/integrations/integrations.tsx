/** Settings > Integrations: the list, the wizard, and one of them; by the path. */
import type { ListedIntegration, One, ProviderView } from "../../../api/manage-answers.js";
import { useUrl } from "../../../api/use-answer.js";
import { Empty, Failure, SkeletonTable } from "../../../parts/states.js";
import { useView } from "../../../state/view.js";
import { useList, useManagePath, useMayManage } from "../manage.js";
import { Integration } from "./integration.js";
import { IntegrationList } from "./list.js";
import { NewIntegration } from "./new.js";
import { Payouts } from "./payouts.js";
import { ProviderChoice } from "./provider-choice.js";

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
