/** A table of rows by columns; the first column names the row. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { View } from "../state/view.js";

export interface Column<Row> {
  readonly head: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  readonly foot?: ComponentChildren;
  /** What the first click orders by, as the interface names it; the next one turns it round. */
  readonly sort?: string;
}

/** The order that the rows have come in. */
export interface Order {
  readonly sort: string;
  readonly href: (sort: string) => string;
}

/** @param sorts the first is the usual one; what the address asks for otherwise is passed over */
export function orderIn(view: View, sorts: readonly string[]): Order {
  const [usual = ""] = sorts;
  const sort = sorts.find((each) => each === view.get("sort")) ?? usual;
  return { sort, href: (other) => view.with({ sort: other === usual ? null : other }) };
}

export function Table<Row>(props: {
  /** What the table holds, for those who do not see where it stands. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly isCurrent?: (row: Row) => boolean;
  /** Left out: the rows have one order only. */
  readonly order?: Order;
}) {
  const { columns, rows, order } = props;
  const hasFoot = columns.some(({ foot }) => foot !== undefined);
  return (
    // A wide table scrolls by itself, by the keyboard too.
    <div class="table-holder" tabIndex={0} role="region" aria-label={props.caption}>
      <table class="table">
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Head key={index} column={column} order={order} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <Row
              key={props.rowKey(row)}
              row={row}
              columns={columns}
              isCurrent={props.isCurrent?.(row) === true}
            />
          ))}
        </tbody>
        {hasFoot ? (
          <tfoot>
            <tr>{columns.map((column, index) => cellOf(column, index, column.foot))}</tr>
          </tfoot>
        ) : null}
      </table>
    </div>
  );
}

function Head<Row>(props: { readonly column: Column<Row>; readonly order: Order | undefined }) {
  const { column, order } = props;
  const { sort, head, isNumber = false } = column;
  if (sort === undefined || order === undefined) {
    return (
      <th scope="col" class={classOf(column)}>
        {cut(head)}
      </th>
    );
  }
  const name = sort.replace("-", "");
  const isCurrent = order.sort.replace("-", "") === name;
  const isFalling = order.sort.startsWith("-");
  const next = isCurrent ? (isFalling ? name : `-${name}`) : sort;
  const arrow = isCurrent ? <span aria-hidden="true">{isFalling ? "▼" : "▲"}</span> : null;
  return (
    <th
      scope="col"
      class={classOf(column)}
      aria-sort={isCurrent ? (isFalling ? "descending" : "ascending") : undefined}
    >
      <a class="sort" href={order.href(next)}>
        {isNumber ? arrow : null}
        {head}
        {isNumber ? null : arrow}
      </a>
    </th>
  );
}

/** An element that is the same as before is passed over: a row of a live table is drawn once. */
function Row<Data>(props: {
  readonly row: Data;
  readonly columns: readonly Column<Data>[];
  readonly isCurrent: boolean;
}) {
  const { row, columns, isCurrent } = props;
  return useMemo(
    () => (
      <tr aria-current={isCurrent ? "true" : undefined}>
        {columns.map((column, index) => cellOf(column, index, column.cell(row)))}
      </tr>
    ),
    [row, columns, isCurrent],
  );
}

/** The first one names its row. */
function cellOf<Row>(column: Column<Row>, index: number, content: ComponentChildren) {
  const shown = column.isNumber === true ? content : cut(content);
  return index === 0 ? (
    <th key={index} scope="row" class={classOf(column)}>
      {shown}
    </th>
  ) : (
    <td key={index} class={classOf(column)}>
      {shown}
    </td>
  );
}

const longFrom = 32;

/** Names may be of any length; a cell may not. */
function cut(content: ComponentChildren): ComponentChildren {
  const isLong = typeof content === "string" && content.length >= longFrom;
  return isLong ? <span class="cut">{content}</span> : content;
}

function classOf({ isNumber }: { readonly isNumber?: boolean }): string | undefined {
  return isNumber === true ? "number" : undefined;
}
