/** Every integration with its health. */
import type { ListedIntegration, ProviderView } from "../../../api/manage-answers.js";
import { count } from "../../../format/numbers.js";
import { Empty } from "../../../parts/states.js";
import { Table } from "../../../parts/table.js";
import { useView } from "../../../state/view.js";
import { useMayManage } from "../manage.js";
import { When } from "../../../parts/when.js";
import { Health } from "./health.js";

export function IntegrationList(props: {
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
                {row.name === null ? null : (
                  <>
                    <br />
                    <span class="soft small">{nameOf(row.provider)}</span>
                  </>
                )}
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
