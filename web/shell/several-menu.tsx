/** A menu of the values of one filter that only this screen has: some of them, or all but some. */
import { Choice, Menu } from "../parts/menu.js";
import { useView } from "../state/view.js";
import { FilterList, useFilter } from "./filter-lists.js";

export function SeveralMenu(props: {
  /** Of the parameter. */
  readonly name: string;
  readonly label: string;
  /** Where nothing is filtered. */
  readonly all: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}) {
  const view = useView();
  const { name, label, all, options } = props;
  const { isNot, values } = useFilter(name).filter;
  const chosen = options.filter(({ value }) => values.includes(value));
  const text = chosen.map((option) => option.label).join(", ");
  return (
    <Menu name={label} label={values.length === 0 ? all : isNot ? `not ${text}` : text}>
      <Choice href={view.with({ [name]: null })} isCurrent={values.length === 0}>
        {all}
      </Choice>
      <div class="filter-menu">
        <FilterList name={name} label={label} options={options} />
      </div>
    </Menu>
  );
}
