/** The menu that breaks a screen down. */
import { words } from "../format/names.js";
import { Choice, Menu } from "../parts/menu.js";
import { useView } from "../state/view.js";
import { type GroupName, groupOf } from "./groups.js";

export function GroupMenu(props: { readonly none: string; readonly names: readonly GroupName[] }) {
  const view = useView();
  const { none, names } = props;
  const group = groupOf(view.get("group_by"), names);
  return (
    <Menu name="Broken down" label={group === null ? none : `By ${words(group).toLowerCase()}`}>
      <Choice href={view.with({ group_by: null })} isCurrent={group === null}>
        {none}
      </Choice>
      {names.map((name) => (
        <Choice key={name} href={view.with({ group_by: name })} isCurrent={name === group}>
          {words(name)}
        </Choice>
      ))}
    </Menu>
  );
}
