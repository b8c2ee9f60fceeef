import { embeddedBackends } from "../../../config.js";
import { unprocessable } from "../../../schemas/http/errors.js";
import { type DemoView, demo as shape } from "../../../schemas/http/manage.js";
import { type Call, ofInstallation } from "../calls.js";
import { DemoProcess } from "./process.js";

const path = "/demo";

/**
 * Only beside an embedded service, for a browser on the same machine: the demo has its own port.
 */
export const demoRoutes = [
  ofInstallation.post(path, "Start the demo, or open it", {
    right: "operate",
    action: "demo.started",
    answer: shape,
    status: 202,
    errors: [422],
    run(call): DemoView {
      if (!isPossible(call)) {
        throw unprocessable(
          "demo_elsewhere",
          "The demo can be started only from a browser on the machine of an embedded service. " +
            "Run npm run demo there.",
        );
      }
      const { ctx, demo } = call;
      demo.begin();
      return { ...demo.progress, url: demo.linkFrom(ctx.hostname) };
    },
  }),
  ofInstallation.get(path, "Whether the demo runs", {
    right: "operate",
    answer: shape,
    run: (call): DemoView =>
      isPossible(call)
        ? { ...call.demo.progress, url: null }
        : { state: "elsewhere", said: null, url: null },
  }),
];

function isPossible({ config, ctx: { hostname, req } }: Call<null>): boolean {
  if (!DemoProcess.isInstalled || embeddedBackends(config).length === 0) return false;
  const { remoteAddress: from = "" } = req.socket;
  const isLoopback = from === "::1" || from.replace(/^::ffff:/, "").startsWith("127.");
  return isLoopback && (hostname === "localhost" || hostname === "127.0.0.1");
}
