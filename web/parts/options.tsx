/** What a `select` lets choose from. */
export function Options(props: {
  readonly of: readonly (readonly [value: string, label: string])[];
}) {
  return (
    <>
      {props.of.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </>
  );
}
