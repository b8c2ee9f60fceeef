/** A change somebody asks for: one at a time, its failure shown, answers asked for anew. */
import { useState } from "preact/hooks";
import { CallError } from "../api/client.js";
import { reloadAnswers } from "../api/use-answer.js";

export interface Action {
  readonly error: CallError | null;
  readonly isBusy: boolean;
  /** Never throws. */
  readonly run: (work: () => Promise<unknown>) => void;
}

export function useAction(): Action {
  const [error, setError] = useState<CallError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await work();
      reloadAnswers();
    } catch (thrown) {
      setError(CallError.of(thrown));
    } finally {
      setBusy(false);
    }
  };
  return { error, isBusy, run: (work) => void act(work) };
}
