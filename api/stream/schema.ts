import { z } from "zod";
import { segmentQuery } from "../../schemas/http/series.js";
import { severalNote, severalOf } from "../../schemas/http/several.js";
import { transactionStatuses } from "../../schemas/http/transactions.js";
import { providerTokens } from "../../schemas/provider-tokens.js";

export const streamQueryParameters = z.object({
  ...segmentQuery,
  provider: severalOf(providerTokens).optional().describe(severalNote),
  status: severalOf(transactionStatuses).optional().describe(severalNote),
  after: z
    .string()
    .min(1)
    .max(4_096)
    .optional()
    .describe(
      "`cursor` of the last message seen, or `X-Cursor` before the first: " +
        "missed messages are sent first.",
    ),
  sample: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      "Messages a second at most, for readers that cannot take all: each then says in " +
        "`skipped` how many were left out before it. The last of a burst is always sent.",
    ),
});
export type StreamQuery = z.output<typeof streamQueryParameters>;
