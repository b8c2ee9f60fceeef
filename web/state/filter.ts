/**
 * One filter as the address has it: `DE,FR` is any of these, `-DE,-FR` any but these. The interface
 * takes it the same way.
 */
export interface Filter {
  readonly isNot: boolean;
  readonly values: readonly string[];
}

export function filterOf(text: string | null | undefined): Filter {
  const values = (text ?? "").split(",").filter((value) => value !== "");
  const isNot = values.some((value) => value.startsWith("-"));
  return { isNot, values: isNot ? values.map((value) => value.replace(/^-/, "")) : values };
}

/** Null: nothing is filtered. */
export function filterText({ isNot, values }: Filter): string | null {
  if (values.length === 0) return null;
  return values.map((value) => (isNot ? `-${value}` : value)).join(",");
}

export function toggled({ isNot, values }: Filter, value: string): Filter {
  const others = values.filter((other) => other !== value);
  return { isNot, values: others.length < values.length ? others : [...values, value] };
}

export function passes(text: string | undefined, value: string): boolean {
  const { isNot, values } = filterOf(text);
  return values.length === 0 || values.includes(value) !== isNot;
}
