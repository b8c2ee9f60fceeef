/** `GET /v1/transactions/{id}`: one transaction and what it was made of. */
import { z } from "zod";
import { bookedAt } from "../../schemas/booked-at.js";
import { clocksQuery, completeAnswer } from "../../schemas/http/clocks.js";
import { customerField } from "../../schemas/http/customers.js";
import { ledgerEntry, rawEvent } from "../events/evidence-schema.js";
import { formatQuery } from "../../schemas/http/formats.js";
import { transaction } from "../../schemas/http/transactions.js";

export const transactionQueryParameters = z.object({ ...clocksQuery, ...formatQuery });

const fxSource = z
  .string()
  .meta({ description: "Who published that rate: `ecb`, `wide`, `same`." });
const fxEdition = z.int().nullable().meta({ description: "The state of all rates it is from." });

export const transactionVersion = transaction
  .extend({
    recorded_at: z.iso.datetime().meta({ description: "Receipt of the event that made it." }),
    booked_at: bookedAt,
    event_id: z.string().meta({ description: "The raw event that made it." }),
    fx_source: fxSource,
    fx_edition: fxEdition,
    events: z.array(rawEvent).meta({
      description:
        "Received since the previous version, the event that made this one last. " +
        "Later events that changed nothing are with the last version.",
    }),
  })
  .meta({ id: "TransactionVersion" });

const paymentDescription =
  "The provider's own id of the payment; of a refund without a sale `refund:` and its own.";

export const transactionAnswer = completeAnswer("TransactionAnswer", {
  data: transaction
    .extend({
      ...customerField,
      payment: z.string().meta({ description: paymentDescription }),
      fx_source: fxSource,
      fx_edition: fxEdition,
      versions: z.array(transactionVersion).meta({ description: "Oldest first." }),
      ledger: z.array(ledgerEntry).meta({
        description: "By `happened_at`, then `recorded_at`. Sales add up to `gross_amount`.",
      }),
    })
    .meta({ id: "ExplainedTransaction" }),
});
export type TransactionAnswer = z.output<typeof transactionAnswer>;
