/** A list of the workspace as a table, page after page. */
import type { ComponentChildren } from "preact";
import { More } from "../../parts/pages.js";
import { Failure, SkeletonTable } from "../../parts/states.js";
import { type Column, Table } from "../../parts/table.js";
import type { ManagedList } from "./manage.js";

const skeletonRows = 4;

export function ListTable<Row extends { readonly id: string }>(props: {
  readonly of: ManagedList<Row>;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Default: the id. */
  readonly rowKey?: (row: Row) => string;
  /** What stands there without any row. */
  readonly children?: ComponentChildren;
}) {
  const { caption, columns, rowKey = ({ id }) => id } = props;
  const { rows, rest, error, isLoading } = props.of;
  return (
    <>
      {error === null ? null : <Failure error={error} />}
      {isLoading ? <SkeletonTable rows={skeletonRows} columns={columns.length} /> : null}
      {!isLoading && error === null && rows.length === 0 ? props.children : null}
      {rows.length === 0 ? null : (
        <Table caption={caption} rows={rows} rowKey={rowKey} columns={columns} />
      )}
      <More of={rest} />
    </>
  );
}
