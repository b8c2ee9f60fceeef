/** The identity providers that are set up. */
import type { SignInProvider } from "../../api/session-answers.js";
import { useUrl } from "../../api/use-answer.js";
import { Failure, Skeleton } from "../../parts/states.js";

export function Providers(props: {
  /** Added to `/auth/<name>`. */
  readonly query: Readonly<Record<string, string>>;
  readonly verb: string;
}) {
  const { answer, error } = useUrl<{ data: readonly SignInProvider[] }>("/v1/session/providers");
  if (answer === null && error !== null) return <Failure error={error} />;
  if (answer === null) return <Skeleton of="Sign in with somebody" />;
  return (
    <ul class="choices">
      {answer.data.map(({ name, label }) => (
        <li key={name}>
          <a
            class="button"
            href={`/auth/${name}?${new URLSearchParams(props.query).toString()}`}
            // The service answers, not the dashboard.
            target="_top"
          >
            {props.verb} {label}
          </a>
        </li>
      ))}
    </ul>
  );
}
