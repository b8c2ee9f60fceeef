/** One of several figures side by side. */
export function Reading(props: {
  readonly label: string;
  readonly value: string;
  readonly note?: string;
}) {
  return (
    <div>
      <span class="soft">{props.label}</span>
      <span class="value">{props.value}</span>
      {props.note === undefined ? null : <span class="soft small">{props.note}</span>}
    </div>
  );
}
