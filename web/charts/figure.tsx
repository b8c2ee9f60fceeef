/** A chart with its title, its legend, the same as a table, and ways to take it along. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { savePng, saveSvg } from "./picture.js";
import type { Tone } from "./tones.js";

interface LegendItem {
  readonly label: string;
  /** `then`: the dashed line of what is compared with; `goal`: what is meant to be. */
  readonly tone: Tone | "then" | "goal";
}

export function Figure(props: {
  readonly title: ComponentChildren;
  /** Of files made of it. */
  readonly name: string;
  readonly legend?: readonly LegendItem[];
  /** What the chart shows, to read. */
  readonly table: ComponentChildren;
  /** More ways to take it along: exports of the rows. */
  readonly exports?: ComponentChildren;
  readonly isStale?: boolean;
  readonly children: ComponentChildren;
}) {
  const [isTable, setIsTable] = useState(false);
  const figure = useRef<HTMLElement>(null);
  const withChart = (save: (svg: SVGSVGElement, name: string) => void) => (): void => {
    const svg = figure.current?.querySelector<SVGSVGElement>(".chart svg");
    if (svg) save(svg, props.name);
  };
  return (
    <figure class={props.isStale === true ? "figure is-stale" : "figure"} ref={figure}>
      <header>
        <h2>{props.title}</h2>
        {props.legend === undefined ? null : (
          <ul class="legend">
            {props.legend.map(({ label, tone }) => (
              <li key={label}>
                <span
                  class={tone === "then" || tone === "goal" ? `mark ${tone}` : `mark tone-${tone}`}
                />
                {label}
              </li>
            ))}
          </ul>
        )}
        <div class="tools">
          <button
            type="button"
            class="button plain"
            aria-pressed={isTable}
            aria-label="Show as a table"
            title="Show as a table"
            onClick={() => setIsTable(!isTable)}
          >
            <Icon name={isTable ? "chart" : "table"} />
          </button>
          <Menu label={<span class="unseen">Save</span>} icon="download" isPlain>
            {isTable ? null : (
              <>
                <button type="button" class="choice" onClick={withChart(saveSvg)}>
                  SVG
                </button>
                <button type="button" class="choice" onClick={withChart(savePng)}>
                  PNG
                </button>
              </>
            )}
            {props.exports}
          </Menu>
        </div>
      </header>
      {isTable ? props.table : props.children}
    </figure>
  );
}
