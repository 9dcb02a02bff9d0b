/** Bars and lines of a chart, as SVG in a square of 100 by 100 that is stretched to the chart's size. */

export interface ChartLine {
  readonly name: string;
  /** One per step; null: no value. */
  readonly values: readonly (number | null)[];
  /** Class of its colour. */
  readonly colour: Colour;
}

export type Colour = "accent" | "info" | "warn" | "bad";

export interface MarksProps {
  readonly lines: readonly ChartLine[];
  /** Value at the upper edge. */
  readonly top: number;
}

/** Bars of one line on top of each other. */
export function Bars({ lines, top }: MarksProps) {
  const count = Math.max(1, ...lines.map(({ values }) => values.length));
  const width = 100 / count;
  const gap = count > 100 ? 0.12 : 0.22;
  const heights = Array.from({ length: count }, () => 0);
  return (
    <>
      {lines.map(({ name, values, colour }) => (
        <path
          key={name}
          class={`bar ${colour}`}
          d={values
            .map((value, at) => {
              if (value === null || value <= 0) return "";
              const low = heights[at] ?? 0;
              // A single request among many remains visible.
              const high = Math.min(100, low + Math.max(1.5, (value / top) * 100));
              heights[at] = high;
              const [left, wide] = [width * (at + gap / 2), width * (1 - gap)];
              return `M${left.toFixed(2)} ${(100 - high).toFixed(2)}h${wide.toFixed(2)}V${(100 - low).toFixed(2)}h-${wide.toFixed(2)}z`;
            })
            .join("")}
        />
      ))}
    </>
  );
}

/** One line through the values of each line. A line has gaps where it has no values. */
export function Lines({ lines, top }: MarksProps) {
  return (
    <>
      {lines.map(({ name, values, colour }) => (
        <path key={name} class={`line ${colour}`} d={pathOf(values, top)} />
      ))}
    </>
  );
}

function pathOf(values: readonly (number | null)[], top: number): string {
  const width = 100 / Math.max(1, values.length);
  let isDrawing = false;
  return values
    .map((value, at) => {
      if (value === null) {
        isDrawing = false;
        return "";
      }
      const point = `${((at + 0.5) * width).toFixed(2)} ${(100 - Math.min(100, (value / top) * 100)).toFixed(2)}`;
      // A value without neighbours is a short line, because a dot of the line's width is hard to see.
      const isAlone = (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;
      const mark = isDrawing ? `L${point}` : `M${point}h${isAlone ? width.toFixed(2) : 0}`;
      isDrawing = true;
      return mark;
    })
    .join("");
}
