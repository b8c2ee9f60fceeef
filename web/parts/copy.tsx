/** Text to take along, such as a webhook URL or a key. */
import { useEffect, useState } from "preact/hooks";

const saidMs = 2_000;

export function Copy(props: {
  readonly text: string;
  /** What it is, for those who do not see where it stands. */
  readonly name: string;
  /** The text stands on the page already. */
  readonly isShown?: boolean;
  /** The button says what it is. */
  readonly isNamed?: boolean;
}) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), saidMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <span class="copy">
      {props.isShown === true ? null : <code>{props.text}</code>}
      <button
        type="button"
        class="button"
        onClick={() => void navigator.clipboard.writeText(props.text).then(() => setCopied(true))}
      >
        {isCopied ? "Copied" : "Copy"}
        <span class={props.isNamed === true ? undefined : "unseen"}> {props.name}</span>
      </button>
    </span>
  );
}
