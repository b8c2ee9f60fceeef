/** Rows of a list, page after page: the first comes by itself, more when asked for. */
import { useEffect, useState } from "preact/hooks";
import { CallError, type Params, call, urlOf } from "../api/client.js";
import type { Loaded } from "../api/use-answer.js";
import { useView } from "../state/view.js";

interface Page<Row> extends Paged {
  readonly data: readonly Row[];
}

interface Paged {
  readonly pagination: { readonly has_more: boolean; readonly next_cursor: string | null };
}

export interface Rest<Row> {
  readonly rows: readonly Row[];
  readonly cursor: string | null;
  readonly error: CallError | null;
  readonly isLoading: boolean;
  readonly more: () => void;
}

/** A list as it is shown: its first page, and those after it. */
export interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly rest: Rest<Row>;
  readonly error: CallError | null;
  /** No answer came yet. */
  readonly isLoading: boolean;
  readonly isStale: boolean;
}

export function listed<Row>({ answer, error, isStale }: Loaded<unknown>, rest: Rest<Row>) {
  const isLoading = answer === null && error === null;
  return { rows: rest.rows, rest, error, isLoading, isStale };
}

/** A list that comes in one answer. */
export function whole<Row>(loaded: Loaded<{ readonly data: readonly Row[] }>): Listed<Row> {
  const rows = loaded.answer?.data ?? [];
  const rest = { rows, cursor: null, error: null, isLoading: false, more: () => undefined };
  return listed(loaded, rest);
}

/** The list of an answer to `useAnswer`, of the same workspace, environment and clocks. */
export function useListed<Row>(
  loaded: Loaded<Page<Row>>,
  path: string,
  params: Params,
): Listed<Row> {
  const { tenant, clocks } = useView();
  return listed(loaded, usePages(path, { ...tenant, ...clocks, ...params }, loaded.answer));
}

export function usePages<Row>(path: string, params: Params, first: Page<Row> | null): Rest<Row> {
  return usePagesOf(path, params, first, ({ data }) => data);
}

/** @param first the answer of the first page @param rowsOf the rows of an answer */
export function usePagesOf<Row, Answer extends Paged>(
  path: string,
  params: Params,
  first: Answer | null,
  rowsOf: (answer: Answer) => readonly Row[],
): Rest<Row> {
  const key = urlOf(path, params);
  const [rest, setRest] = useState<{ key: string; rows: readonly Row[]; cursor: string | null }>({
    key: "",
    rows: [],
    cursor: null,
  });
  const [isLoading, setLoading] = useState(false);
  const [error, setError] = useState<CallError | null>(null);
  const isWalking = rest.key === key;
  // Once a second page is there, the first stays as it was: the walk shows each row once.
  const [frozenFirst, setFrozenFirst] = useState<Answer | null>(null);
  useEffect(() => setError(null), [key]);
  const head = isWalking ? frozenFirst : first;
  const cursor = isWalking ? rest.cursor : (first?.pagination.next_cursor ?? null);
  const load = async (): Promise<void> => {
    if (cursor === null || isLoading) return;
    setLoading(true);
    setError(null);
    try {
      const page = await call<Answer>("GET", urlOf(path, { ...params, cursor }));
      if (!isWalking) setFrozenFirst(first);
      setRest({
        key,
        rows: [...(isWalking ? rest.rows : []), ...rowsOf(page)],
        cursor: page.pagination.next_cursor,
      });
    } catch (thrown) {
      setError(CallError.of(thrown));
    } finally {
      setLoading(false);
    }
  };
  return {
    rows: [...(head === null ? [] : rowsOf(head)), ...(isWalking ? rest.rows : [])],
    cursor,
    error,
    isLoading,
    more: () => void load(),
  };
}

export function More<Row>(props: { readonly of: Rest<Row>; readonly label?: string }) {
  const { of, label = "Show more" } = props;
  if (of.cursor === null) return null;
  return (
    <div class="pager">
      <button type="button" class="button" disabled={of.isLoading} onClick={of.more}>
        {of.error === null ? label : "Try again"}
      </button>
      {of.error === null ? null : <span class="loss">{of.error.message}</span>}
    </div>
  );
}
