/** The segments of the workspace shown, and a field that chooses one. */
import type { SegmentView } from "../../schemas/http/segments.js";
import { useUrl } from "../api/use-answer.js";
import type { View } from "../state/view.js";
import { useView } from "../state/view.js";

interface Segments {
  /** Of the interface. */
  readonly url: string;
  /** Null: not known yet. */
  readonly list: readonly SegmentView[] | null;
}

/** Of the environment shown. */
export function useSegments({ workspace, environment }: View): Segments {
  const url = `/v1/manage/workspaces/${workspace ?? ""}/segments`;
  // All of them are on one page (`limits.segmentsMax`).
  const { answer } = useUrl<{ data: readonly SegmentView[] }>(`${url}?limit=200`, false);
  const own = environment === "test" ? "Test" : "Production";
  return { url, list: answer?.data.filter((each) => each.environment === own) ?? null };
}

/** Not there while there is none to choose. */
export function SegmentField(props: {
  readonly name?: string;
  readonly label: string;
  /** What none is called. */
  readonly none: string;
  /** Its id. */
  readonly value: string | null;
  readonly isDisabled?: boolean;
  readonly onChange?: (segment: string | null) => void;
}) {
  const { name, label, none, value, onChange } = props;
  const { list } = useSegments(useView());
  if (list === null || (list.length === 0 && value === null)) return null;
  const isGone = value !== null && !list.some(({ id }) => id === value);
  return (
    <label>
      {label}
      <select
        name={name}
        disabled={props.isDisabled}
        onChange={(event) => onChange?.(event.currentTarget.value || null)}
      >
        <option value="">{none}</option>
        {isGone ? (
          <option value={value} selected>
            A deleted segment
          </option>
        ) : null}
        {list.map(({ id, name: called }) => (
          <option key={id} value={id} selected={id === value}>
            {called}
          </option>
        ))}
      </select>
    </label>
  );
}
