/** A list as a table, page after page. */
import type { ComponentChildren } from "preact";
import { type Listed, More } from "./pages.js";
import { Failure, SkeletonTable } from "./states.js";
import { type Column, type Order, Table } from "./table.js";

const skeletonRows = 8;

export function ListTable<Row extends { readonly id: string }>(props: {
  readonly of: Listed<Row>;
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Default: the id. */
  readonly rowKey?: (row: Row) => string;
  readonly isCurrent?: (row: Row) => boolean;
  readonly order?: Order;
  /** What stands there without any row. */
  readonly children?: ComponentChildren;
}) {
  const { of, rowKey = ({ id }) => id, children, ...table } = props;
  const { rows, rest, error, isLoading, isStale } = of;
  return (
    <>
      <Failure error={error} />
      {isLoading ? <SkeletonTable rows={skeletonRows} columns={props.columns.length} /> : null}
      {!isLoading && error === null && rows.length === 0 ? children : null}
      {rows.length === 0 ? null : (
        <div class={isStale ? "is-stale" : ""}>
          <Table {...table} rows={rows} rowKey={rowKey} />
          <More of={rest} />
        </div>
      )}
    </>
  );
}
