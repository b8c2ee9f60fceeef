/** The merchant's catalogue at Google Play: names of products, billing periods of base plans. */
import { z } from "zod";
import type { BillingPeriod } from "../../schemas/money/monthly.js";

/** Names are optional: an odd one must not cost the billing periods beside them. */
const listings = z
  .array(z.object({ languageCode: z.string(), title: z.string().trim().min(1) }))
  .nullish()
  .catch(null);
const periodOfPlan = z.object({ billingPeriodDuration: z.string() }).nullish();

const productShape = z.object({
  listings,
  basePlans: z
    .array(
      z.object({
        basePlanId: z.string(),
        autoRenewingBasePlanType: periodOfPlan,
        prepaidBasePlanType: periodOfPlan,
        installmentsBasePlanType: periodOfPlan,
      }),
    )
    .nullish(),
});

/**
 * English where there is one, else the first: the same for every buyer, unlike the title in an
 * order, which is in the buyer's language.
 */
export function nameIn(answer: unknown): string | null {
  const given = productShape.safeParse(answer).data?.listings ?? [];
  const english = given.find(({ languageCode }) => /^en\b/.test(languageCode));
  return (english ?? given[0])?.title ?? null;
}

export function billingPeriodIn(answer: unknown, basePlanId: string | null): BillingPeriod | null {
  const plans = productShape.safeParse(answer).data?.basePlans ?? [];
  const only = plans.length === 1 ? plans[0] : undefined;
  const plan = plans.find((each) => each.basePlanId === basePlanId) ?? only;
  const type =
    plan?.autoRenewingBasePlanType ?? plan?.prepaidBasePlanType ?? plan?.installmentsBasePlanType;
  return type ? parseDuration(type.billingPeriodDuration) : null;
}

const intervals = { D: "day", W: "week", M: "month", Y: "year" } as const;

/** `P1M`, `P4W`, `P1Y`: Google allows one unit. */
function parseDuration(text: string): BillingPeriod | null {
  const [, count = "", unit] = /^P([1-9]\d{0,3})([DWMY])$/.exec(text) ?? [];
  const interval = Object.entries(intervals).find(([letter]) => letter === unit)?.[1];
  return interval === undefined ? null : { interval, intervalCount: BigInt(count) };
}
