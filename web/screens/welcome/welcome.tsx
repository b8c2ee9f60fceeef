/** For those who are not signed in: sign-in, first run, invitations, the first workspace. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../../api/client.js";

interface Provider {
  readonly name: string;
  readonly label: string;
}

export default function Welcome() {
  const [providers, setProviders] = useState<readonly Provider[] | null>(null);
  useEffect(() => {
    call<{ data: readonly Provider[] }>("GET", "/v1/session/providers").then(
      ({ data }) => setProviders(data),
      () => setProviders([]),
    );
  }, []);
  const returnTo = new URLSearchParams(location.search).get("return_to") ?? "/";
  return (
    <main class="page alone">
      <h1>Sign in</h1>
      <ul>
        {providers?.map(({ name, label }) => (
          <li key={name}>
            <a class="button" href={`/auth/${name}?return_to=${encodeURIComponent(returnTo)}`}>
              {label}
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}
