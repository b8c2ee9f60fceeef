/** What a rule would have done over the history, by the function that watches. */
import { limits } from "../../config.js";
import type { AlertRule, AlertTest } from "../../schemas/http/outbound/alerts.js";
import { watch } from "./conditions.js";
import { type Naming, sentenceOf, titleOf } from "./sentences.js";
import { type Reading, readWatched } from "./watched.js";

/** @param now ms since 1970 @throws ApiError as the calls about figures do */
export async function testOnHistory(
  reading: Reading,
  rule: AlertRule,
  naming: Naming,
  now: number,
): Promise<AlertTest> {
  const from = now - limits.alertHistoryMs;
  const { series, condition } = await readWatched(reading, rule, from);
  // Before the first value there was nothing to watch.
  const begun = series.points.find(({ value }) => value !== null && value !== 0)?.start ?? from;
  const before = { isMet: false, firedAt: null, judgedTo: Math.max(from, begun) };
  const { after, firings } = watch(series, condition, before, limits.alertRestMs);
  return {
    title: titleOf(rule, naming),
    from: new Date(from).toISOString(),
    to: new Date(now).toISOString(),
    fired: firings.length,
    firings: firings.slice(-limits.alertFiringsListedMax).map((firing) => ({
      at: new Date(firing.point.at).toISOString(),
      value: firing.value,
      sentence: sentenceOf(rule, firing, naming),
    })),
    is_true_now: after.isMet,
  };
}
