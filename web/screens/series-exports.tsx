/** What is shown as a file, in the three formats of the interface. */
import { type Params, urlOf } from "../api/client.js";
import { Menu } from "../parts/menu.js";
import { useView } from "../state/view.js";

const formats = [
  ["csv", "CSV"],
  ["ndjson", "NDJSON"],
  ["parquet", "Parquet"],
] as const;

export function SeriesExports(props: { readonly path: string; readonly params: Params }) {
  const view = useView();
  return (
    <>
      {formats.map(([format, label]) => (
        <a
          key={format}
          href={urlOf(props.path, { ...view.tenant, ...view.clocks, ...props.params, format })}
          download={`${props.path.split("/").at(-1) ?? "rows"}.${format}`}
        >
          {label}
        </a>
      ))}
    </>
  );
}

export function ExportMenu(props: { readonly path: string; readonly params: Params }) {
  return (
    <Menu label="Export" icon="download" hasChevron={false}>
      <SeriesExports path={props.path} params={props.params} />
    </Menu>
  );
}
