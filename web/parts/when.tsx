/** A moment in the reader's zone; the exact one, in UTC too, in its title. */
import { bothMoments, shortMoment } from "../format/dates.js";

export function When(props: {
  readonly at: string | null;
  /** What stands there without a moment. */
  readonly none?: string;
  readonly format?: (at: string) => string;
}) {
  const { at, none = "Never", format = shortMoment } = props;
  if (at === null) return <span class="soft">{none}</span>;
  return (
    <time class="tight" dateTime={at} title={bothMoments(at)}>
      {format(at)}
    </time>
  );
}
