/** The menu that breaks a screen down. */
import { words } from "../format/names.js";
import { Choice, Menu } from "../parts/menu.js";
import { useView } from "../state/view.js";
import { groupNames, groupOf } from "./groups.js";

export function GroupMenu({ none }: { readonly none: string }) {
  const view = useView();
  const group = groupOf(view.get("group_by"));
  return (
    <Menu name="Broken down" label={group === null ? none : `By ${group}`}>
      <Choice href={view.with({ group_by: null })} isCurrent={group === null}>
        {none}
      </Choice>
      {groupNames.map((name) => (
        <Choice key={name} href={view.with({ group_by: name })} isCurrent={name === group}>
          {words(name)}
        </Choice>
      ))}
    </Menu>
  );
}
