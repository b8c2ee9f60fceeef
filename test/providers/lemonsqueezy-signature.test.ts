import { createHmac } from "node:crypto";
import { expect } from "chai";
import { createLemonSqueezy } from "../../providers/lemonsqueezy/index.js";

const lemon = createLemonSqueezy();
const now = 1_763_600_000_000;
const secret = "a harbor with 7 boats";
const body = Buffer.from('{"meta":{"event_name":"order_created"}}');

/**
 * Published by a client's authors: NdoleStudio/lemonsqueezy-go @
 * b0f6ba0f56cc6825f722072d4c0f79c3d4deaa0b, webhooks_service_test.go with internal/stubs
 * /webhook.go. Every byte counts: the body begins with a newline and holds one tab.
 */
const published = {
  secret: "signing-secret",
  signature: "743c0dcfaab3a3d06198183501fb92cc82e548febc80937f3fb236a4932f748f",
};

async function verdictOf(header: string | undefined, secrets = [secret]): Promise<string> {
  const verdict = await lemon.verify(
    { headers: { "x-signature": header }, body },
    secrets.map((signing_secret) => ({ signing_secret })),
    now,
  );
  return verdict.ok ? "ok" : verdict.reason;
}

/** Apart from `sign`, by Lemon Squeezy's description: hex HMAC-SHA256 of the body. */
function digest(key = secret, text = body): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

describe("Lemon Squeezy's signature", () => {
  const vector = async (text: string) =>
    lemon.verify(
      { headers: { "x-signature": published.signature }, body: Buffer.from(text) },
      [{ signing_secret: published.secret }],
      now,
    );

  it("should accept the published vector", async () => {
    expect(await vector(publishedBody)).to.deep.equal({ ok: true, verdict: "signature" });
  });

  it("should refuse the published vector with its first newline taken off", async () => {
    const refusal = { ok: false, reason: "signature_mismatch" };
    expect(await vector(publishedBody.trimStart())).to.deep.equal(refusal);
  });

  it("should sign what it verifies, as Lemon Squeezy describes it", () => {
    const { headers } = lemon.sign(body, { signing_secret: secret }, now);
    expect(headers["x-signature"]).to.equal(digest());
  });

  const good = digest();
  const cases: readonly [title: string, header: string | undefined, verdict: string][] = [
    ["no header", undefined, "signature_missing"],
    ["an empty header", "", "signature_missing"],
    ["text that is no signature", "hello", "signature_malformed"],
    ["a signature cut short", good.slice(0, 62), "signature_malformed"],
    ["a signature in capitals", good.toUpperCase(), "signature_malformed"],
    ["two signatures", `${good},${good}`, "signature_malformed"],
    ["a signature of another secret", digest("another harbor"), "signature_mismatch"],
    ["a signature of another body", digest(secret, Buffer.from("{}")), "signature_mismatch"],
    ["the right one", good, "ok"],
  ];
  for (const [title, header, verdict] of cases) {
    it(`should answer ${verdict} to ${title}`, async () => {
      expect(await verdictOf(header)).to.equal(verdict);
    });
  }

  it("should take the old secret for a while after it was changed", async () => {
    expect(await verdictOf(good, ["a new harbor", ` ${secret}\n`])).to.equal("ok");
    expect(await verdictOf(good, [])).to.equal("signature_mismatch");
  });
});

const publishedBody = `
{
  "meta": {
    "event_name": "order_created",
\t"custom_data": {
      "customer_id": 25
    }
  },
  "data": {
    "type": "orders",
    "id": "1",
    "attributes": {
      "store_id": 1,
      "customer_id": 1,
      "identifier": "89b36d62-4f5c-4353-853f-0c769d0535c8",
      "order_number": 1,
      "user_name": "Dan R",
      "user_email": "dan@lemonsqueezy.com",
      "currency": "EUR",
      "currency_rate": "1.08405",
      "subtotal": 1499,
      "discount_total": 0,
      "tax": 359,
      "total": 1859,
      "subtotal_usd": 1626,
      "discount_total_usd": 0,
      "tax_usd": 390,
      "total_usd": 2016,
      "tax_name": "ALV",
      "tax_rate": "24.00",
      "status": "paid",
      "status_formatted": "Paid",
      "refunded": null,
      "refunded_at": null,
      "subtotal_formatted": "€14.99",
      "discount_total_formatted": "€0.00",
      "tax_formatted": "€3.59",
      "total_formatted": "€18.59",
      "first_order_item": {
        "order_id": 1,
        "product_id": 1,
        "variant_id": 1,
        "product_name": "Product One",
        "variant_name": "Default",
        "price": 1500,
        "created_at": "2023-01-17T12:26:23.000000Z",
        "updated_at": "2023-01-17T12:26:23.000000Z",
        "test_mode": false
      },
      "urls": {
        "receipt": "https://app.lemonsqueezy.com/my-orders/89b36d62-4f5c-4353-853f-0c769d0535c8\
?signature=8847fff02e1bfb0c7c43ff1cdf1b1657a8eed2029413692663b86859208c9f42"
      },
      "created_at": "2023-01-17T12:26:23.000000Z",
      "updated_at": "2023-01-17T12:26:23.000000Z",
      "test_mode": false
    },
    "relationships": {
      "store": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/store",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/store"
        }
      },
      "customer": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/customer",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/customer"
        }
      },
      "order-items": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/order-items",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/order-items"
        }
      },
      "subscriptions": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/subscriptions",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/subscriptions"
        }
      },
      "license-keys": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/license-keys",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/license-keys"
        }
      },
      "discount-redemptions": {
        "links": {
          "related": "https://api.lemonsqueezy.com/v1/orders/1/discount-redemptions",
          "self": "https://api.lemonsqueezy.com/v1/orders/1/relationships/discount-redemptions"
        }
      }
    },
    "links": {
      "self": "https://api.lemonsqueezy.com/v1/orders/1"
    }
  }
}
`;
