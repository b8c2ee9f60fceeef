/** Filters: a menu that adds one, and a chip for each that holds. */
import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useAnswer } from "../api/use-answer.js";
import { countryName, providerName, providerTokens } from "../format/names.js";
import { fieldOf } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Choice, Menu } from "../parts/menu.js";
import { type FilterName, useView } from "../state/view.js";

export function Filters({ names }: { readonly names: readonly FilterName[] }) {
  const view = useView();
  const { filters } = view;
  // Not before somebody chooses: the figures wait for the same engine.
  const [isWanted, setWanted] = useState(false);
  const products = useAnswer(
    (isWanted && names.includes("product")) || filters.product !== undefined
      ? "/v1/products"
      : null,
    { period: "lifetime", limit: "200" },
  ).answer?.data;
  const nameOf = (name: FilterName, value: string): string => {
    if (name === "provider") return providerName(value);
    if (name === "country") return countryName(value);
    if (name === "product") return products?.find(({ id }) => id === value)?.name ?? "One product";
    return value;
  };
  return (
    <>
      <Menu label="Filter" icon="filter" hasChevron={false} onOpen={() => setWanted(true)}>
        {names.includes("provider") ? (
          <>
            <h3>Provider</h3>
            {providerTokens.map((token) => (
              <Choice
                key={token}
                href={view.with({ provider: token })}
                isCurrent={filters.provider === token}
              >
                {providerName(token)}
              </Choice>
            ))}
          </>
        ) : null}
        {names.includes("product") && products !== undefined && products.length > 0 ? (
          <>
            <h3>Product</h3>
            {products.map(({ id, name }) => (
              <Choice key={id} href={view.with({ product: id })} isCurrent={filters.product === id}>
                {name}
              </Choice>
            ))}
          </>
        ) : null}
        {names.includes("currency") ? (
          <CodeForm name="currency" label="Currency" length={3} />
        ) : null}
        {names.includes("country") ? <CodeForm name="country" label="Country" length={2} /> : null}
      </Menu>
      {names.map((name) => {
        const value = filters[name];
        if (value === undefined) return null;
        return (
          <a
            key={name}
            class="chip"
            href={view.with({ [name]: null })}
            aria-label={`Remove the filter ${nameOf(name, value)}`}
          >
            <span class="cut">{nameOf(name, value)}</span>
            <Icon name="close" />
          </a>
        );
      })}
    </>
  );
}

/** Codes are short to type, and their lists long. */
function CodeForm(props: {
  readonly name: "currency" | "country";
  readonly label: string;
  readonly length: number;
}) {
  const view = useView();
  const { route } = useLocation();
  const { name, length } = props;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const code = fieldOf(event.currentTarget, "code").toUpperCase();
        event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
        route(view.with({ [name]: code }));
      }}
    >
      <label>
        <span class="soft small">{props.label}</span>
        <br />
        <input
          type="text"
          name="code"
          size={6}
          minLength={length}
          maxLength={length}
          pattern="[A-Za-z]+"
          placeholder={name === "currency" ? "EUR" : "DE"}
          required
        />
      </label>
    </form>
  );
}
