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
  return {
    [topics.raw]: every,
    [topics.incomplete]: every,
    [topics.facts]: every,
    [topics.rejected]: every,
    [topics.transactions]: every,
    [topics.movements]: every,
  };
}
