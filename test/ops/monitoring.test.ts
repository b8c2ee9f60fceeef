/** What `/metrics` shows, and what ops/monitoring makes of it, by Prometheus' own tool. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { stringify } from "yaml";
import { z } from "zod";
import { createMetrics } from "../../runtime/metrics.js";
import { projectFile } from "../../runtime/project-root.js";
import { placeDatabase } from "../harness/empty-database.js";
import { freePort, SuiteService } from "../harness/service-process.js";

const rulesPath = projectFile("ops", "monitoring", "alerts.yml");
const dashboard = z
  .object({
    panels: z.array(
      z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) }),
    ),
  })
  .parse(JSON.parse(readFileSync(projectFile("ops", "monitoring", "dashboard.json"), "utf8")));
/** Debian's package `prometheus`; .ci/run installs it. */
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

describe("Metrics of a process", () => {
  const service = new SuiteService();
  let folder: string;
  let shown: string;
  let status: number;

  before(async function startOnce() {
    this.timeout(120_000);
    folder = mkdtempSync(join(tmpdir(), "monitoring-"));
    await placeDatabase(folder);
    const metricsPort = await freePort();
    const { endpoint } = await service.start(folder, { METRICS_PORT: String(metricsPort) });
    status = (await fetch(`${endpoint.base}/metrics`)).status;
    shown = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect((await fetch(`http://127.0.0.1:${metricsPort}/v1/metrics/mrr`)).status).to.equal(404);
    await service.stop();
  });
  after(() => rmSync(folder, { recursive: true }));

  it("should be on METRICS_PORT alone when it is set", () => {
    expect(status).to.equal(404);
    expect(shown).to.match(/^revenue_rates_age_seconds\{source="ecb"\} \d+$/m);
  });

  it("should say how far each consumer group is, once, as Kafka names it", () => {
    const reported = [...shown.matchAll(/^revenue_consumer_lag_records\{group="([^"]+)"\}/gm)];
    expect(reported.map(([, group]) => group)).to.have.members([
      "revenue.raw.normalize",
      "revenue.raw.journal",
      "revenue.incomplete.complete",
      "revenue.incomplete.enrich",
      "revenue.facts.book",
      "revenue.transactions.webhooks",
      "revenue.mrr-movements.webhooks",
      "revenue.rejected.webhooks",
    ]);
  });

  it("should carry one prefix, and pass promtool's check", function checkNames() {
    const ours = shown.split("\n").filter((line) => !/^(# \w+ )?(process|nodejs)_/.test(line));
    const names = ours.flatMap((line) => /^# TYPE (\S+)/.exec(line)?.[1] ?? []);
    expect(names).to.have.length.above(12);
    for (const name of names) expect(name).to.match(/^revenue_/);
    if (hasPromtool) promtool(["check", "metrics"], `${ours.join("\n")}\n`);
  });

  it("should be all that the dashboard and the alerts ask for", () => {
    const names = new Set([...shown.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const asked = [...queries(), ...alerts()].flatMap((query) => [
      ...query.matchAll(/\b(?:revenue|process|nodejs)_\w+/g),
    ]);
    const missing = asked
      .map(([name]) => name.replace(/_(bucket|count)$/, ""))
      .filter((name) => !names.has(name));
    expect(missing).to.deep.equal([]);
    expect(asked).to.have.length.above(25);
  });
});

describe("Monitoring", () => {
  it("should have alert rules that Prometheus loads", () => {
    for (const subject of [
      "lag",
      "rejects",
      "rates",
      "audit_overdue",
      "disk",
      "webhooks",
      "lacking",
    ]) {
      expect(alerts().join("\n")).to.include(subject);
    }
    if (hasPromtool) promtool(["check", "rules", rulesPath]);
  });

  it("should have a dashboard whose queries Prometheus understands", () => {
    if (!hasPromtool) return;
    const folder = mkdtempSync(join(tmpdir(), "dashboard-"));
    const rules = queries().map((query, index) => ({
      record: `dashboard:query:${index}`,
      expr: query.replaceAll("$__rate_interval", "5m"),
    }));
    writeFileSync(join(folder, "r.yml"), stringify({ groups: [{ name: "dashboard", rules }] }));
    promtool(["check", "rules", join(folder, "r.yml")]);
    rmSync(folder, { recursive: true });
  });

  it("should count what is beyond the series of a metric as other", async () => {
    const metrics = createMetrics(2);
    for (const verdict of ["a", "b", "c", "d", "a"]) metrics.ingested.inc({ verdict });
    metrics.gauge("many", "Many", "of", async () => ({ a: 1, b: 2, c: 3 }));
    const text = await metrics.registry.metrics();
    const counts = [...text.matchAll(/^revenue_ingest_events_total\{verdict="(\w+)"\} (\d)$/gm)];
    expect(counts.map(([, verdict, count]) => [verdict, count])).to.deep.equal([
      ["a", "2"],
      ["b", "1"],
      ["other", "2"],
    ]);
    expect(text.match(/^revenue_many\{/gm)).to.have.length(2);
  });
});

function queries(): string[] {
  return dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

function alerts(): string[] {
  const rules = readFileSync(rulesPath, "utf8");
  return [...rules.matchAll(/expr: (?:>-\n)?([^]*?)\n {8}\w/g)].map(([, query = ""]) => query);
}

function promtool(words: readonly string[], input = ""): void {
  const { status, stdout, stderr } = spawnSync("promtool", words, { input, encoding: "utf8" });
  expect(status, `${stdout}${stderr}`).to.equal(0);
}
