/**
 * Yields results of concurrent work in groups as it ends, so that none waits for the slowest.
 * @throws the first failure, once all have ended and what succeeded was taken
 */
export async function* groupsAsCompleted<T>(
  works: readonly Promise<T>[],
): AsyncGenerator<readonly T[]> {
  const ended: PromiseSettledResult<T>[] = [];
  let wake = (): void => undefined;
  const watch = async (work: Promise<T>): Promise<void> => {
    ended.push(...(await Promise.allSettled([work])));
    wake();
  };
  for (const work of works) void watch(work);
  const failures: unknown[] = [];
  for (let taken = 0; taken < works.length;) {
    if (ended.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    const group = ended.splice(0);
    taken += group.length;
    const values: T[] = [];
    for (const result of group) {
      if (result.status === "fulfilled") values.push(result.value);
      else failures.push(result.reason);
    }
    if (values.length > 0) yield values;
  }
  if (failures.length > 0) throw failures[0];
}
