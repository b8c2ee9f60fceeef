/** An account as people know it: by name, else by what else is known of the customer. */
import type { Customer } from "../../schemas/http/customers.js";
import { providerName, shortId } from "../format/names.js";
import { useView } from "../state/view.js";

type Known = Customer | null | undefined;

/** Name, else e-mail, else the provider's own id; null: nothing is known, or may be seen. */
export function customerName(customer: Known): string | null {
  return customer?.name ?? customer?.email ?? customer?.id ?? null;
}

/** A link to the account. @param account empty for a guest */
export function AccountLink(props: {
  readonly account: string;
  readonly customer: Known;
  /** With all of its hash, where nothing else is known. */
  readonly isWhole?: boolean;
}) {
  const view = useView();
  const { account, customer } = props;
  if (account === "") return <span class="soft">A guest</span>;
  const name = customerName(customer);
  const href = view.to(`/accounts/${encodeURIComponent(account)}`);
  if (name === null) {
    return (
      <a class="code" href={href}>
        {props.isWhole === true ? account : shortId(account)}
      </a>
    );
  }
  return (
    <a class={name === customer?.id ? "code" : "row-link"} href={href} title={titleOf(customer)}>
      {name}
    </a>
  );
}

/** What else is known, for whom the name says too little. */
function titleOf(customer: Known): string {
  return [customer?.email, customer?.id].filter(Boolean).join(" · ");
}

/** The customer's page at the provider. */
export function ProviderLink(props: { readonly customer: Known; readonly provider: string }) {
  const url = props.customer?.provider_url ?? null;
  if (url === null) return null;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      Open in {providerName(props.provider)}
    </a>
  );
}
