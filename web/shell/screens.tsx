/** Screens are files of their own, loaded when opened: what is shown while one does not come. */
import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { lazy } from "preact-iso";

export function screenOf<Props>(load: () => Promise<{ readonly default: ComponentType<Props> }>) {
  return lazy(() => load().catch(missing));
}

/**
 * After an upgrade the file has another name, which only the new page knows: it is loaded once for
 * each address. What is missing then will not come by loading it again.
 */
async function missing(): Promise<{ readonly default: typeof NotLoaded }> {
  if (history.state !== reloaded && (await isReachable())) {
    history.replaceState(reloaded, "");
    location.reload();
    await new Promise(() => {});
  }
  return { default: NotLoaded };
}

/** What the history keeps of an address, also when the page is loaded anew. */
const reloaded = "reloaded";

/** A page that is loaded anew without a network is lost, and its address with it. */
async function isReachable(): Promise<boolean> {
  const answer = await fetch("/icon.svg", { method: "HEAD", cache: "no-store" }).catch(() => null);
  return answer?.ok === true;
}

const retryMs = 1_000;

function NotLoaded() {
  const [isTrying, setTrying] = useState(false);
  // Stays set once the page is being reloaded: a second time would cut it short on a slow network.
  const isBusy = useRef(false);
  const tryAgain = async (): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    setTrying(true);
    if (await isReachable()) return location.reload();
    isBusy.current = false;
    setTrying(false);
  };
  // Listens before it is painted: the network may be back by then.
  useLayoutEffect(() => {
    let tries: ReturnType<typeof setInterval> | undefined;
    // The network may answer only some time after the browser says that it is there.
    const wake = (): void => {
      clearInterval(tries);
      tries = setInterval(() => void tryAgain(), retryMs);
      void tryAgain();
    };
    addEventListener("online", wake);
    return () => {
      clearInterval(tries);
      removeEventListener("online", wake);
    };
  }, []);
  return (
    <Broken title="This screen could not be loaded">
      <p>Check the connection, then try again.</p>
      <button type="button" class="button" disabled={isTrying} onClick={() => void tryAgain()}>
        Try again
      </button>
    </Broken>
  );
}

interface BoundaryProps {
  /** What was wrong with one address may be right with the next. */
  readonly url: string;
  readonly children: ComponentChildren;
}

/** Holds what fails while it is drawn, which would leave an empty page. */
export class Boundary extends Component<BoundaryProps, { readonly error: string | null }> {
  override state: { readonly error: string | null } = { error: null };

  static override getDerivedStateFromError(error: unknown): { readonly error: string } {
    return { error: String(error) };
  }

  override componentDidUpdate({ url }: BoundaryProps): void {
    if (url !== this.props.url && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Broken title="This page failed">
        <p>Reload it. If it fails again, report this, with its address:</p>
        <p>
          <code>{error}</code>
        </p>
        <button type="button" class="button" onClick={() => location.reload()}>
          Reload
        </button>{" "}
        <a class="button" href="/overview">
          Overview
        </a>
      </Broken>
    );
  }
}

function Broken(props: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty" role="alert">
      <h1>{props.title}</h1>
      {props.children}
    </div>
  );
}
