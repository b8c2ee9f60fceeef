/**
 * For tests that wait most of their time: all those of a `describe` are begun at once before the
 * first, and mocha then awaits one after the other. What one of them needs is its own, and
 * released after all of them.
 */
export function together(): (title: string, run: () => Promise<void>) => void {
  const runs = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();
  before(() => {
    for (const [title, run] of runs) {
      const one = run();
      // Reported by its test.
      one.catch(() => undefined);
      running.set(title, one);
    }
  });
  return (title, run) => {
    runs.set(title, run);
    it(title, () => running.get(title));
  };
}
