/** What a fault run is made of: the schedule of its faults, and the proxy that fails on demand. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect } from "chai";
import { faultKinds, planOf, singlePlanOf } from "../chaos/plan.js";
import { hourMs } from "../harness/days.js";
import { type Listening, listen } from "../harness/loopback.js";
import { Proxy } from "../harness/proxy.js";

describe("A fault run's schedule", () => {
  it("should be the same for the same seed, and another for another", () => {
    expect(planOf(7, hourMs, 1)).to.deep.equal(planOf(7, hourMs, 1));
    expect(planOf(7, hourMs, 1)).to.not.deep.equal(planOf(8, hourMs, 1));
  });

  it("should begin as a shorter run of that seed does", () => {
    const [short, long] = [planOf(7, hourMs / 10, 1), planOf(7, hourMs, 1)];
    expect(short).to.deep.equal(long.slice(0, short.length));
  });

  it("should hold 500 faults of all kinds in an hour", () => {
    const plan = planOf(7, hourMs, 1);
    expect(plan.length).to.be.greaterThan(500);
    expect(new Set(plan.map(({ kind }) => kind))).to.deep.equal(new Set(Object.keys(faultKinds)));
  });

  it("should hold every fault of every role and server once, one at a time", () => {
    const plan = singlePlanOf(7, 3);
    const named = plan.map(({ kind, target }) => `${kind}: ${target}`);
    expect(new Set(named).size).to.equal(named.length);
    const left = Object.keys(faultKinds).filter((kind) => !plan.some((one) => one.kind === kind));
    expect(left).to.deep.equal(["fill a topic"]);
    expect(singlePlanOf(8, 3)).to.have.deep.members(plan).and.not.deep.equal(plan);
  });

  it("should meet each broker of several by itself", () => {
    const targets = new Set(planOf(7, hourMs, 3).map(({ target }) => target));
    expect(targets).to.include.keys("kafka 1", "kafka 2", "kafka 3").and.not.include.keys("kafka");
  });
});

describe("The proxy of a fault run", () => {
  let echo: Listening;
  let proxy: Proxy;
  before(async () => {
    const repeat = (socket: Socket) => socket.on("error", () => undefined).pipe(socket);
    echo = await listen(createServer(repeat));
    proxy = await Proxy.open(0, echo.port);
  });
  after(async () => {
    await proxy.close();
    await echo.close();
  });

  const open = async (): Promise<Socket> => {
    const socket = connect(proxy.port, "127.0.0.1").on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  const answered = async (socket: Socket, text: string): Promise<string> => {
    const answer = once(socket, "data");
    socket.write(text);
    return String((await answer)[0]);
  };

  it("should pass on what comes, also when it takes its time", async () => {
    const socket = await open();
    expect(await answered(socket, "one")).to.equal("one");
    proxy.weather = { delayMs: 5, bytesPerSecond: 10_000 };
    expect(await answered(socket, "two")).to.equal("two");
    proxy.heal();
    socket.destroy();
  });

  it("should reset one connection of two, and let new ones in", async () => {
    const [first, second] = [await open(), await open()];
    await answered(first, "one");
    await answered(second, "two");
    proxy.cut(2);
    await closed(first);
    expect(await answered(second, "three")).to.equal("three");
    second.destroy();
    const third = await open();
    expect(await answered(third, "four")).to.equal("four");
    third.destroy();
  });

  it("should refuse all while it is parted", async () => {
    proxy.isParted = true;
    const refused = connect(proxy.port, "127.0.0.1").on("error", () => undefined);
    await closed(refused);
    proxy.heal();
    const socket = await open();
    expect(await answered(socket, "again")).to.equal("again");
    socket.destroy();
  });

  it("should swallow what open connections say, then reset them", async () => {
    const deaf = await open();
    const heard: string[] = [];
    await answered(deaf, "one");
    proxy.deafen();
    deaf.on("data", () => heard.push("data")).on("close", () => heard.push("close"));
    deaf.write("two");
    const other = await open();
    expect(await answered(other, "three")).to.equal("three");
    proxy.heal();
    await closed(deaf);
    expect(heard).to.deep.equal(["close"]);
    other.destroy();
  });
});

/** Resolves also when it was reset, which is an error to `once`. */
function closed(socket: Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once("close", resolve));
}
