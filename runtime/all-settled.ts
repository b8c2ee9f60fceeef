/**
 * Like `Promise.all`, but if one fails, the others end first, so that none is still running when
 * the caller sees the failure.
 * @throws the first failure in the order of `works`
 */
export async function allEnded(works: readonly Promise<unknown>[]): Promise<void> {
  const ends = await Promise.allSettled(works);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
