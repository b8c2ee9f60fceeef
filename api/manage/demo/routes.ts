import type { Context } from "koa";
import { embeddedBackends } from "../../../config.js";
import { unprocessable } from "../../../schemas/http/errors.js";
import type { DemoView } from "../../../schemas/http/manage.js";
import type { Service } from "../../../service.js";
import type { Calls } from "../calls.js";
import { DemoProcess } from "./process.js";

const path = "/demo";

/**
 * Only beside an embedded service, for a browser on the same machine: the demo has its own port.
 */
export function demoRoutes({ config, releases }: Service, calls: Calls<null>): void {
  const demo = new DemoProcess(config.DATA_DIR);
  releases.push("demo", () => demo.end());
  const isPossible = DemoProcess.isInstalled && embeddedBackends(config).length > 0;

  const started = { right: "operate", action: "demo.started", status: 202 } as const;
  calls.write("POST", path, started, (ctx): DemoView => {
    if (!isPossible || !isOnThisMachine(ctx)) {
      throw unprocessable(
        "demo_elsewhere",
        "The demo can be started only from a browser on the machine of an embedded service. " +
          "Run npm run demo there.",
      );
    }
    demo.begin();
    return { ...demo.progress, url: demo.linkFrom(ctx.hostname) };
  });

  calls.get(path, "operate", (ctx): DemoView => {
    if (!isPossible || !isOnThisMachine(ctx)) return { state: "elsewhere", said: null, url: null };
    return { ...demo.progress, url: null };
  });
}

function isOnThisMachine({ hostname, req }: Context): boolean {
  const { remoteAddress: from = "" } = req.socket;
  const isLoopback = from === "::1" || from.replace(/^::ffff:/, "").startsWith("127.");
  return isLoopback && (hostname === "localhost" || hostname === "127.0.0.1");
}
