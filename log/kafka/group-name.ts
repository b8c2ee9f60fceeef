/** How a group of a topic is called at the broker. */

export interface GroupName {
  readonly groupId: string;
  /** On Kafka. */
  readonly topic: string;
}
