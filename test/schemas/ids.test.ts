import { randomBytes } from "node:crypto";
import { expect } from "chai";
import {
  base62,
  base62Alphabet,
  eventId,
  historyEventId,
  movementId,
  productId,
  transactionId,
} from "../../schemas/ids.js";

describe("ids", () => {
  it("should write bytes as the number they stand for", () => {
    for (let count = 0; count <= 40; count += 1) {
      const random = randomBytes(count);
      const leadingZeros = Buffer.from(random).fill(0, 0, Math.ceil(count / 2));
      for (const bytes of [random, leadingZeros, Buffer.alloc(count), Buffer.alloc(count, 255)]) {
        const text = base62(bytes);
        expect(text).to.have.length(Math.ceil((count * 8) / Math.log2(62)));
        expect(numberOf(text)).to.equal(BigInt(`0x${bytes.toString("hex") || "0"}`));
      }
    }
  });

  // They are stored and published: a change of one would book everything again.
  const ids = [
    ["eventId", eventId("ws_1", "live", "stripe", "evt_1"), "evt_norm_GTVjeRuXvooIR023DXVcgm9nkFT"],
    [
      "historyEventId",
      historyEventId("ws_1", "test", "stripe", "ch_1"),
      "evt_norm_000000009bS1SODda11XVllWEux",
    ],
    [
      "transactionId",
      transactionId("ws_1", "live", "paddle", "txn_1"),
      "tx_norm_LWqm9DhrrWi7q6JGBQeR1JFi36b",
    ],
    [
      "productId",
      productId("ws_1", "live", "gumroad", "Füller €"),
      "prod_unf_DEj5Fk5geyWacgMfA49UoAZmdwU",
    ],
    [
      "movementId",
      movementId("ws_1", "live", "acc", "12:x"),
      "mov_norm_J7HdfKG4c6kk0B7lIYkqWSzZGAF",
    ],
  ] as const;
  for (const [name, id, expected] of ids) {
    it(`should never change what ${name} makes`, () => expect(id).to.equal(expected));
  }
});

function numberOf(text: string): bigint {
  let number = 0n;
  for (const digit of text) number = number * 62n + BigInt(base62Alphabet.indexOf(digit));
  return number;
}
