/** Whether there is anything to show yet. */
import { useAnswer } from "../../api/use-answer.js";
import { useView } from "../../state/view.js";

/** @param hasNoFigures by what the screen shows; a payment that ended or was refunded counts */
export function useIsEmpty(hasNoFigures: boolean): boolean {
  const { isFrozen, filters } = useView();
  const isAsked = hasNoFigures && !isFrozen && Object.keys(filters).length === 0;
  const { answer } = useAnswer(isAsked ? "/v1/transactions" : null, { limit: "1" });
  return isAsked && answer !== null && answer.data.length === 0;
}
