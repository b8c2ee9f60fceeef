/** What is shown as a file, in the three formats of the interface. */
import { type Params, urlOf } from "../api/client.js";
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
          download
        >
          {label}
        </a>
      ))}
    </>
  );
}
