/** What columns rows have, as text: `name Type, …` as in CREATE TABLE. */

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** `a String, b Array(Tuple(c Int8, d Int8))` has the columns a and b. */
export function columnsOf(structure: string): readonly Column[] {
  return listed(structure).map((column) => {
    const [name = "", ...type] = column.split(/\s+/);
    return { name, type: type.join(" ") };
  });
}

export function columnNames(structure: string): readonly string[] {
  return columnsOf(structure).map(({ name }) => name);
}

/** `Array(Tuple(a Int8))` is an Array of `Tuple(a Int8)`. */
export function typeParts(type: string): readonly [outer: string, inner: string] {
  const [, outer = type, inner = ""] = /^(\w+)\((.*)\)$/s.exec(type) ?? [];
  return [outer, inner];
}

/** Splits at commas outside of brackets. */
function listed(text: string): readonly string[] {
  const found: string[] = [];
  let [depth, from] = [0, 0];
  for (const { 0: mark, index } of text.matchAll(/[(),]/g)) {
    if (mark === "(") depth += 1;
    else if (mark === ")") depth -= 1;
    else if (depth === 0) {
      found.push(text.slice(from, index).trim());
      from = index + 1;
    }
  }
  return [...found, text.slice(from).trim()];
}
