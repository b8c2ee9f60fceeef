/** Free trials by month of their start, and what became of them. */
import { useAnswer } from "../../api/use-answer.js";
import { Failure } from "../../parts/states.js";
import { type Kind, Started, useStartedParams } from "./started.js";

const path = "/v1/metrics/trials";

const kinds = [
  {
    name: "trialsStarted",
    head: "Started",
    field: "started",
    format: "count",
    isInverse: false,
    of: {
      name: "Trials started",
      text:
        "Subscriptions whose free trial began in the time shown, each once, in the month of its " +
        "first one. All parts of it are of these.",
    },
  },
  {
    name: "trialsConverted",
    head: "Converted",
    field: "converted",
    format: "count",
    isInverse: false,
    of: {
      name: "Trials converted",
      text: "Of those, the ones that came to a paid period up to now.",
    },
  },
  {
    name: "trialsLost",
    head: "Lost",
    field: "lost",
    format: "count",
    isInverse: true,
    of: {
      name: "Trials lost",
      text: "Of those, the ones that ended or expired without a paid period.",
    },
  },
  {
    name: "trialsOpen",
    head: "Open",
    field: "open",
    format: "count",
    isInverse: false,
    of: {
      name: "Trials open",
      text: "Of those, the ones that are neither converted nor lost yet.",
      formula: "started − converted − lost",
    },
  },
  {
    name: "trialConversion",
    head: "Conversion",
    field: "conversion_rate_pct",
    format: "percent",
    isInverse: false,
    of: {
      name: "Trial conversion",
      text:
        "How many of the trials that began in the time shown came to a paid period up to now. " +
        "Open ones may still raise it.",
      formula: "trials converted ÷ trials started",
    },
  },
] as const satisfies readonly Kind<string>[];

/** Nothing where there is none, now and in the time compared with. */
export function Trials() {
  const params = useStartedParams();
  const { answer, error, isStale } = useAnswer(path, params);
  if (error !== null) return <Failure error={error} />;
  const data = answer?.data;
  if (data === undefined || data.started + (data.compare?.started ?? 0) === 0) return null;
  return (
    <Started
      heading="Trials"
      intro="By the month in which they began; one may still convert later."
      {...{ path, params, kinds, data, isStale }}
      currency=""
      chosenBy="trials"
    />
  );
}
