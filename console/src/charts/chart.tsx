/** A chart over time, with values of the step under the pointer or chosen with the arrow keys, or the same as a table. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { Bars, Lines } from "./marks.tsx";
import type { ChartLine } from "./marks.tsx";
import { axisOf, axisText, roundTop, stepText } from "./scale.ts";
import type { Times } from "./scale.ts";
import "./charts.css";

interface ChartProps {
  readonly title: string;
  /** The value over all steps. */
  readonly figure: ComponentChildren;
  readonly kind: "bars" | "lines";
  readonly lines: readonly ChartLine[];
  readonly times: Times;
  /** Shown without any value. */
  readonly empty: string;
  readonly asTable: boolean;
  /** The step to show values of; undefined: none. Charts beside each other share it. */
  readonly step: number | undefined;
  onStep(step: number | undefined): void;
  text(value: number): string;
}

export function Chart(props: ChartProps) {
  const { title, figure, lines, asTable } = props;
  const id = useId();
  return (
    <section class="panel chart" aria-labelledby={id}>
      <header>
        <h2 id={id} class="grow">
          {title}
        </h2>
        <ul class="legend">
          {lines.map(({ name, colour }) => (
            <li key={name}>
              <i class={colour} />
              {name}
            </li>
          ))}
        </ul>
      </header>
      <p class="chart-figure">{figure}</p>
      {asTable ? <Numbers {...props} /> : <Plot {...props} />}
    </section>
  );
}

function Plot({ title, kind, lines, times, empty, step, onStep, text }: ChartProps) {
  const { count } = times;
  const all = Array.from({ length: count }, (_, at) => lines.map(({ values }) => values[at] ?? null));
  const heights = all.map((values) =>
    kind === "bars" ? values.reduce<number>((sum, one) => sum + (one ?? 0), 0) : Math.max(0, ...values.map(Number)),
  );
  const isEmpty = heights.every((one) => one === 0);
  const top = roundTop(Math.max(0, ...heights), kind === "bars");
  const shown = step === undefined ? undefined : Math.min(step, count - 1);
  const choose = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -count, End: count }[event.key];
    if (event.key === "Escape") onStep(undefined);
    if (by === undefined) return;
    event.preventDefault();
    onStep(Math.max(0, Math.min(count - 1, (shown ?? count - 1) + by)));
  };
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    onStep(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * count))));
  };
  const said = (at: number): string =>
    `${stepText(at, times)}: ${lines.map(({ name, values }) => `${name} ${valueText(values[at], text)}`).join(", ")}`;
  const Marks = kind === "bars" ? Bars : Lines;
  const place = shown === undefined ? 0 : ((shown + 0.5) / count) * 100;
  return (
    <div class="plot">
      <div class="axis-y" aria-hidden="true">
        {axisOf(top).map((value) => (
          <span key={value}>{value === 0 ? "0" : text(value)}</span>
        ))}
      </div>
      <div
        class="area"
        role="slider"
        tabIndex={0}
        aria-label={`${title} over time`}
        aria-valuemin={0}
        aria-valuemax={count - 1}
        aria-valuenow={shown ?? count - 1}
        aria-valuetext={said(shown ?? count - 1)}
        onKeyDown={choose}
        onPointerMove={point}
        onPointerDown={point}
        onPointerLeave={() => onStep(undefined)}
        onBlur={() => onStep(undefined)}
      >
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d="M0 0H100M0 50H100M0 100H100" />
          <Marks lines={lines} top={top} />
        </svg>
        {isEmpty && <p class="nothing">{empty}</p>}
        {shown !== undefined && (
          <>
            <span class="cursor" style={{ left: `${place}%` }} />
            <div class="tip" style={place > 50 ? { right: `${100 - place}%` } : { left: `${place}%` }}>
              <strong>{stepText(shown, times)}</strong>
              {lines.map(({ name, values, colour }) => (
                <span key={name}>
                  <i class={colour} />
                  {name} <b>{valueText(values[shown], text)}</b>
                </span>
              ))}
            </div>
          </>
        )}
      </div>
      <div class="axis-x" aria-hidden="true">
        {[0, 1, 2, 3].map((part) => (
          <span key={part}>{axisText(times.since + (part / 3) * times.stepMs * count, times)}</span>
        ))}
      </div>
    </div>
  );
}

function Numbers({ title, lines, times, text }: ChartProps) {
  const steps = Array.from({ length: times.count }, (_, at) => times.count - 1 - at);
  const filled = steps.filter((at) => lines.some(({ values }) => (values[at] ?? 0) > 0));
  return (
    <div class="chart-table" tabIndex={0} role="region" aria-label={`${title}, numbers`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {lines.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {filled.map((at) => (
            <tr key={at}>
              <th scope="row">{stepText(at, times)}</th>
              {lines.map(({ name, values }) => (
                <td key={name} class="number">
                  {valueText(values[at], text)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {filled.length === 0 && <p class="muted small">No values.</p>}
    </div>
  );
}

function valueText(value: number | null | undefined, text: (value: number) => string): string {
  return value === null || value === undefined ? "–" : text(value);
}
