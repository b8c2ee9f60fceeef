/** Proofs: public, signed pages of one figure each. Made here, copied, revoked. */
import { useState } from "preact/hooks";
import type { ProofView } from "../../../schemas/http/proofs.js";
import { call } from "../../api/client.js";
import { Confirm } from "../../parts/confirm.js";
import { Copy } from "../../parts/copy.js";
import { ListTable } from "../../parts/list-table.js";
import { Empty } from "../../parts/states.js";
import { When } from "../../parts/when.js";
import { useList, useManagePath, useMayManage } from "./manage.js";
import { NewProof, figureNames, shownNames } from "./new-proof.js";

export function Proofs() {
  const path = `${useManagePath()}/proofs`;
  const isManager = useMayManage();
  const [isNew, setNew] = useState(false);
  const list = useList<ProofView>(path);
  return (
    <>
      <div class="section-head">
        <p class="soft">
          A public page of one figure of the live environment, signed, which says how it is known.
          Nothing else can be reached through it. <a href="/docs/proofs.md">How others verify it</a>
        </p>
        {isManager ? (
          <button type="button" class="button primary" onClick={() => setNew(true)}>
            New proof
          </button>
        ) : null}
      </div>
      <ListTable
        of={list}
        caption="Proofs"
        columns={[
          {
            head: "Proof",
            cell: ({ title, url }) => (
              <a class="cut" href={url} target="_blank" rel="noopener">
                {title}
              </a>
            ),
          },
          { head: "Figure", cell: (row) => <Shows of={row} /> },
          { head: "State", cell: (row) => <State of={row} /> },
          { head: "Created", cell: (row) => <When at={row.created_at} /> },
          {
            head: <span class="unseen">Changes</span>,
            isNumber: true,
            cell: (row) =>
              hasEnded(row) ? null : (
                <span class="row-form">
                  <Copy text={row.url} name="link" isShown isNamed />
                  <Copy text={frameOf(row)} name="iframe" isShown isNamed />
                  {isManager ? (
                    <Confirm
                      label="Revoke"
                      of={row.title}
                      title={`Revoke ${row.title}?`}
                      act={() => call("DELETE", `${path}/${row.id}`)}
                    >
                      Its page says so from then on; copies in caches last up to a minute. A
                      statement that somebody saved stays verifiable.
                    </Confirm>
                  ) : null}
                </span>
              ),
          },
        ]}
      >
        <Empty title="Nothing is public">
          Publish a figure to show it to investors, buyers or readers, without an account.
        </Empty>
      </ListTable>
      {isNew ? <NewProof path={path} onClose={() => setNew(false)} /> : null}
    </>
  );
}

function Shows({ of: { figure, months, shown_as: as, filters } }: { readonly of: ProofView }) {
  const parts = [
    ...(months === null ? [] : [months === 1 ? "1 month" : `${months} months`]),
    shownNames[as],
    ...Object.entries(filters).map(([name, value]) =>
      name === "segment" ? "a segment" : `${name}: ${value}`,
    ),
  ];
  return (
    <>
      {figureNames[figure]}
      <div class="soft">{parts.join(", ")}</div>
    </>
  );
}

function hasEnded({ revoked_at, expires_at }: ProofView): boolean {
  return revoked_at !== null || (expires_at !== null && Date.parse(expires_at) < Date.now());
}

function State({ of }: { readonly of: ProofView }) {
  if (of.revoked_at !== null) return <span class="status">Revoked</span>;
  if (hasEnded(of)) return <span class="status">Expired</span>;
  return (
    <span class="status good">
      {of.at === null ? (
        "Live"
      ) : (
        <>
          Frozen at <When at={of.at} />
        </>
      )}
    </span>
  );
}

function frameOf({ url, title }: ProofView): string {
  const name = title.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<iframe src="${url}/embed" title="${name}" width="640" height="440"></iframe>`;
}
