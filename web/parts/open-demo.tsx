/** Starts the demo and goes there; elsewhere than on the service's machine, its command. */
import { useState } from "preact/hooks";
import { call } from "../api/client.js";
import type { DemoView, One } from "../api/manage-answers.js";
import { useUrl } from "../api/use-answer.js";
import { ownsInstallation } from "../state/session.js";
import { ActionButton } from "./action-form.js";
import { Copy } from "./copy.js";
import { Failure } from "./states.js";
import { useAction } from "./use-action.js";

const path = "/v1/manage/demo";
/** Between two looks at how far it is. */
const lookMs = 1_000;

export function OpenDemo() {
  const { answer } = useUrl<One<DemoView>>(ownsInstallation() ? path : null);
  const action = useAction();
  const [demo, setDemo] = useState<DemoView | null>(null);
  if (answer === null || answer.data.state === "elsewhere") {
    return <Copy text="PORT=3100 npm run demo" name="command" />;
  }
  const ask = async (method: "GET" | "POST"): Promise<DemoView> => {
    const { data } = await call<One<DemoView>>(method, path);
    setDemo(data);
    return data;
  };
  const open = async (): Promise<void> => {
    let shown = await ask("POST");
    while (shown.state === "starting") {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      shown = await ask("GET");
    }
    const { url } = shown.state === "ready" ? await ask("POST") : shown;
    if (url !== null) location.assign(url);
  };
  return (
    <>
      <Failure error={action.error} />
      <p>
        <ActionButton action={action} act={open}>
          Open the demo
        </ActionButton>
      </p>
      {demo === null ? null : (
        <p role="status" class={demo.state === "failed" ? "loss" : "soft"}>
          {demo.said}
        </p>
      )}
    </>
  );
}
