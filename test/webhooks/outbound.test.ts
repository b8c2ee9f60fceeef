/** What may be called where a member typed in the address. */
import { createServer } from "node:http";
import { expect } from "chai";
import { limits } from "../../config.js";
import { addressProblem, CallFailed, post } from "../../workspaces/channels/outbound.js";
import { listen, serveHttp } from "../harness/loopback.js";
import { testReleases } from "../harness/stores.js";

const careful = { OUTBOUND_PRIVATE_ADDRESSES: "off" } as const;
const trusting = { OUTBOUND_PRIVATE_ADDRESSES: "on" } as const;
const running = new AbortController().signal;

type Settings = typeof careful | typeof trusting;

async function failureOf(config: Settings, url: string, stopping = running): Promise<CallFailed> {
  try {
    await post(config, url, { headers: {}, body: "{}" }, stopping);
  } catch (error) {
    if (error instanceof CallFailed) return error;
    throw error;
  }
  throw new Error(`${url} was called`);
}

describe("Addresses that members type in", () => {
  const refused = [
    "not a URL",
    "ftp://example.com/",
    "https://user:password@example.com/",
    "http://example.com/",
    "https://127.0.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://0.0.0.0/",
    "https://10.1.2.3/",
    "https://172.16.0.1/",
    "https://192.168.1.1:8443/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[::]/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
  ];
  for (const url of refused) {
    it(`should refuse ${url}`, async () => {
      expect(addressProblem(careful, url)).to.be.a("string");
      expect((await failureOf(careful, url)).message).to.match(/^The address must /);
    });
  }

  it("should take public ones, and private ones where a setting allows", () => {
    const open = ["https://example.com/hook?a=1", "https://8.8.8.8/", "https://[2606:4700::1]/"];
    for (const url of open) expect(addressProblem(careful, url), url).to.equal(null);
    const inside = ["http://example.com/", "http://127.0.0.1:1/", "https://[fd00::1]/"];
    for (const url of inside) expect(addressProblem(trusting, url), url).to.equal(null);
    const never = ["http://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/"];
    for (const url of never) expect(addressProblem(trusting, url), url).to.be.a("string");
  });

  it("should refuse a name by where it leads when it is called", async () => {
    let connections = 0;
    const server = createServer((_request, response) => response.end());
    server.on("connection", () => (connections += 1));
    const { url, close } = await listen(server);
    testReleases.push("private", close);
    const { port } = new URL(url);
    const typed = `https://localhost:${port}/`;
    expect(addressProblem(careful, typed)).to.equal(null);
    const { message } = await failureOf(careful, typed);
    expect(message).to.match(/^The name leads to a private address/);
    expect(connections).to.equal(0);
    await post(trusting, `http://localhost:${port}/`, { headers: {}, body: "" }, running);
  });

  it("should follow no redirect, and say what was answered", async () => {
    let redirected = 0;
    const url = await serveHttp("redirects", (request, response) => {
      if (request.url === "/elsewhere") redirected += 1;
      const status = Number(request.url?.slice(1));
      response.writeHead(status || 200, { location: "/elsewhere", "retry-after": "120" }).end();
    });
    const moved = await failureOf(trusting, `${url}/302`);
    expect(moved.message).to.equal("It answered 302; redirects are not followed.");
    expect(redirected).to.equal(0);
    const busy = await failureOf(trusting, `${url}/503`);
    expect(busy).to.include({ message: "It answered 503.", status: 503, retryAfterMs: 120_000 });
  });

  it("should count an answer whose rest never ends or is too long", async () => {
    const url = await serveHttp("endless", (_request, response) => {
      const more = () => {
        while (response.write(Buffer.alloc(limits.outboundAnswerBytesMax)));
      };
      response.writeHead(202).on("drain", more);
      more();
    });
    expect(await post(trusting, url, { headers: {}, body: "" }, running)).to.equal(202);
  });

  it("should give up what does not answer, or is not there", async () => {
    const url = await serveHttp("silent", () => undefined);
    const stop = new AbortController();
    const failing = failureOf(trusting, url, stop.signal);
    stop.abort();
    expect((await failing).message).to.match(/^There was no answer/);
    const gone = await failureOf(trusting, "http://127.0.0.1:1/");
    expect(gone.message).to.equal("It could not be reached (ECONNREFUSED).");
  });
});
