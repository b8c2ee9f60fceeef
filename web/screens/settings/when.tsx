/** A moment in a list; the exact one in its title. */
import { moment, shortMoment } from "../../format/dates.js";

export function When(props: {
  readonly at: string | null;
  /** What stands there without a moment. */
  readonly none?: string;
}) {
  const { at, none = "Never" } = props;
  if (at === null) return <span class="soft">{none}</span>;
  return (
    <time class="tight" dateTime={at} title={`${moment(at)} UTC`}>
      {shortMoment(at)}
    </time>
  );
}
