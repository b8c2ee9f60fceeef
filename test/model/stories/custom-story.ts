/** Form A records posted to a custom webhook, by the histories of record-story.ts. */
import type { Drawn, Script } from "./story.js";
import { recordPlans, emitRecords } from "./record-story.js";

export const customPlans = recordPlans;

export function emitCustom(
  script: Script,
  plan: Drawn<typeof customPlans>,
  position: number,
): void {
  const sender = {
    end: script.end,
    id: (prefix: string) => script.id(prefix),
    record(record: Parameters<Script["record"]>[0]) {
      const id = script.id("message");
      const { provider: _, ...body } = record;
      script.sent.push({ id, source: "custom", body: { event_id: id, ...body } });
    },
  };
  emitRecords(sender, plan, position);
}
