/** What stands where figures are not, or not yet. */
import type { ComponentChildren } from "preact";
import type { CallError } from "../api/client.js";
import { reloadAnswers } from "../api/use-answer.js";

/** Text of the right width for a figure that is on its way. */
export function Skeleton({ of }: { readonly of: string }) {
  return (
    <span class="skeleton">
      <span aria-hidden="true">{of}</span>
      <span class="unseen">on its way</span>
    </span>
  );
}

export function SkeletonTable({
  rows,
  columns,
}: {
  readonly rows: number;
  readonly columns: number;
}) {
  return (
    <table class="table" aria-hidden="true">
      <tbody>
        {Array.from({ length: rows }, (_row, row) => (
          <tr key={row}>
            {Array.from({ length: columns }, (_cell, cell) => (
              <td key={cell}>
                <Skeleton of={cell === 0 ? "a longer name" : "1,234.56"} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Nothing to show, and the next step. */
export function Empty(props: {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Null: none that the reader may take. */
  readonly action?: { readonly href: string; readonly label: string } | null;
}) {
  const { action = null } = props;
  return (
    <div class="empty">
      <h2>{props.title}</h2>
      <p>{props.children}</p>
      {action === null ? null : (
        <a class="button" href={action.href}>
          <span class="cut">{action.label}</span>
        </a>
      )}
    </div>
  );
}

/** Shown by styles/parts.css after some seconds only. */
export function Slow() {
  return (
    <p class="slow" role="status">
      Still waiting for the service, which is slow to answer.
    </p>
  );
}

/** Why something failed; nothing where it did not. */
export function Failure(props: {
  readonly error: CallError | null;
  /** Left out: asks for all that the screen shows. */
  readonly retry?: () => void;
}) {
  const { error, retry = reloadAnswers } = props;
  if (error === null) return null;
  return (
    <div class="failure" role="alert">
      <p>
        <strong>{error.message}</strong>
      </p>
      <p>{error.advice}</p>
      {error.isPassing ? (
        <p>
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        </p>
      ) : null}
      {error.requestId === null ? null : (
        <p class="small">
          Request <code>{error.requestId}</code>
        </p>
      )}
    </div>
  );
}
