/** Topic options of log tests: four partitions each, kept for ever unless a test says otherwise. */
import type { TopicOptions } from "../../stores/log/log.js";
import { type Topic, topics } from "../../schemas/records/records.js";

export function lmdbTopics(options: Partial<TopicOptions> = {}): Record<Topic, TopicOptions> {
  const every: TopicOptions = {
    partitions: 4,
    retentionMs: null,
    retentionBytes: null,
    ...options,
  };
  return byTopic(every);
}

/** The same of each. */
export function byTopic<Value>(value: Value): Record<Topic, Value> {
  return {
    [topics.raw]: value,
    [topics.incomplete]: value,
    [topics.facts]: value,
    [topics.rejected]: value,
    [topics.transactions]: value,
    [topics.movements]: value,
  };
}
