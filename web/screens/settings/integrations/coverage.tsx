/** Since when, and how, the money of an integration is known: runs of months, newest first. */
import { Fragment } from "preact";
import type { CoverageView, One } from "../../../api/manage-answers.js";
import { useUrl } from "../../../api/use-answer.js";
import { month } from "../../../format/dates.js";
import { Failure } from "../../../parts/states.js";

type Months = CoverageView["months"];

const names: Readonly<Record<Months[number]["known_by"], string>> = {
  webhook: "Webhooks",
  api: "Read from the provider's API",
  export: "The provider's export",
  report: "The provider's report",
  none: "Not whole",
};

export function Coverage(props: { readonly path: string; readonly hasHistory: boolean }) {
  const { path, hasHistory } = props;
  const { answer, error } = useUrl<One<CoverageView>>(`${path}/coverage`);
  const runs = answer === null ? [] : runsOf(answer.data.months);
  return (
    <section>
      <h3>Known months</h3>
      <Failure error={error} />
      <dl class="facts">
        {runs.map(({ first, last, knownBy }) => (
          <Fragment key={first}>
            <dt>
              {month(`${first}-01`)}
              {first === last ? "" : ` to ${month(`${last}-01`)}`}
            </dt>
            <dd class={knownBy === "none" ? "soft" : undefined}>
              {names[knownBy]}
              {knownBy === "none" && hasHistory ? ": read its history" : ""}
            </dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}

interface Run {
  readonly first: string;
  readonly last: string;
  readonly knownBy: Months[number]["known_by"];
}

function runsOf(months: Months): Run[] {
  const runs: Run[] = [];
  for (const { month: name, known_by: knownBy } of months) {
    const run = runs.at(-1);
    if (run?.knownBy === knownBy) runs.splice(-1, 1, { ...run, last: name });
    else runs.push({ first: name, last: name, knownBy });
  }
  return runs.toReversed();
}
