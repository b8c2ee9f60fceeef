/** Which provider to connect; in an empty workspace, the first thing to do. */
import type { ProviderView } from "../../../api/manage-answers.js";
import { OpenDemo } from "../../../parts/open-demo.js";
import { useView } from "../../../state/view.js";

export function ProviderChoice({ providers }: { readonly providers: readonly ProviderView[] }) {
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
