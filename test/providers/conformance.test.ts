/** `UPDATE_CONFORMANCE=1 npm test` writes providers/readings.md anew. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "chai";
import { projectFile } from "../../runtime/project-root.js";
import { readConfig } from "../../config.js";
import { conformancePage } from "../conformance/page.js";
import { createProviders } from "../../providers/index.js";

const file = projectFile("providers", "readings.md");
const providers = createProviders(readConfig({}));

describe("The conformance table", () => {
  const page = conformancePage(providers);

  it("should be committed as the adapters read their examples now", () => {
    if (process.env.UPDATE_CONFORMANCE === "1") writeFileSync(file, page);
    expect(readFileSync(file, "utf8")).to.equal(page);
  });

  it("should have a row for every event type that a merchant is asked to subscribe to", () => {
    for (const { token, subscribeTo } of providers.values()) {
      const section = sectionOf(page, token);
      for (const type of subscribeTo) expect(section, token).to.include(`\n| \`${type}\` | `);
    }
  });

  const reported: [token: string, type: string, example: string, words: RegExp][] = [
    ["stripe", "charge.succeeded", "new", /^a payment \| – \| –/],
    ["stripe", "customer.subscription.deleted", "new", /^– \| ends \| –/],
    ["stripe", "customer.subscription.created", "trialing.new", /^– \| starts on trial \| –/],
    ["paddle", "adjustment.created", "chargeback", /^a dispute takes its money \| –/],
    ["lemonsqueezy", "order_refunded", "partial", /; all that is refunded so far \| –/],
    ["apple", "SUBSCRIBED", "INITIAL_BUY", /^a payment of a subscription \| starts \| –/],
    ["apple", "TEST", "plain", /^– \| – \| ignored: /],
    ["google", "VOIDED_PURCHASE", "voided.product.refund", /refund.*the provider's API answers/],
    ["revenuecat", "RENEWAL", "stripe-store", /not booked where stripe is connected itself/],
    ["gumroad", "dispute_won", "plain", /^a dispute's money comes back \| –/],
    ["custom", "transaction.sale", "wrong.too-precise", /reject `amount_too_precise`/],
  ];
  for (const [token, type, example, words] of reported) {
    it(`should say what ${type} of ${token} does, by the example ${example}`, () => {
      const rows = sectionOf(page, token)
        .split("\n")
        .map((line) => line.split(" | "));
      const row = rows.find(
        ([name, examples = ""]) =>
          name === `| \`${type}\`` && examples.split(", ").includes(example),
      );
      expect(row?.slice(2).join(" | ")).to.match(words);
    });
  }

  it("should name every type that is taken in the flat form B", () => {
    for (const { token, flatTypes } of providers.values()) {
      const section = sectionOf(page, token);
      for (const [type, meaning] of Object.entries(flatTypes)) {
        expect(section).to.include(`\`${type}\` is ${meaning}`);
      }
    }
  });
});

function sectionOf(page: string, token: string): string {
  return page.split("\n## ").find((section) => section.startsWith(`${token}\n`)) ?? "";
}
