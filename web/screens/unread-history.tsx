/** Whose history the figures of an interval miss: said where the interval is named. */
import type { ComponentChild } from "preact";
import { day } from "../format/dates.js";
import { providerName } from "../format/names.js";
import { useAttention } from "../shell/attention.js";

/** @returns what to add to the name of an interval, given its first day */
export function useUnreadHistory(): (from: string) => ComponentChild {
  const { answer, isShown } = useAttention(true);
  const unread = (answer?.history ?? [])
    .filter(isShown)
    .toSorted((one, other) => other.unread_until.localeCompare(one.unread_until));
  return (from) => {
    const missing = unread.filter(({ unread_until: until }) => until > `${from}T`);
    const [latest] = missing;
    if (latest === undefined) return null;
    const names = [...new Set(missing.map(({ provider }) => providerName(provider)))].join(", ");
    return (
      <span
        class="small soft"
        title={`What happened before ${day(latest.unread_until)} is missing.`}
      >
        {" "}
        {names}: history not read
      </span>
    );
  };
}
