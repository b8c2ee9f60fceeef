/**
 * As `Promise.all`, but when one fails the others end first: whoever is reported the failure finds
 * nothing of them on its way any more.
 * @throws the first failure in the order of `works`
 */
export async function allEnded(works: readonly Promise<unknown>[]): Promise<void> {
  const ends = await Promise.allSettled(works);
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}
