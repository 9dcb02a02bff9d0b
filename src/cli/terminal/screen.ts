/** The agent's live screen on a terminal: redrawn in place, a few times a second at most. */
import { styleText } from "node:util";
import type { Clock, Timer } from "../../lib/clock.ts";
import { renderRequest } from "./request-line.ts";
import type { RequestLine } from "./request-line.ts";
import { fit } from "./text-width.ts";

/** Requests shown. */
const shownRequests = 10;
/** Least time between two drawings, milliseconds. */
const redrawMs = 200;
/** Numbers that change by themselves are looked at so often, milliseconds. */
const lookMs = 1_000;

export interface ScreenState {
  readonly title: string;
  /** Label and value of each line above the requests; a value may be coloured. */
  readonly rows: readonly (readonly [label: string, value: string])[];
}

export interface Screen {
  /** The state is another. */
  changed(): void;
  request(line: RequestLine): void;
  /** Something else may have written to the terminal. */
  redraw(): void;
  /** Draws a last time and leaves the cursor below. */
  close(): void;
}

export interface ScreenOutput extends Pick<NodeJS.WriteStream, "columns" | "rows" | "on" | "off"> {
  /** Writes past the guard of what commands print. */
  write(text: string): unknown;
}

/** @param state is asked for what is shown, at each drawing */
export function openScreen(output: ScreenOutput, clock: Clock, state: () => ScreenState): Screen {
  let requests: RequestLine[] = [];
  let height = 0;
  /** Columns and rows of the last drawing. */
  let size = "";
  let due: Timer | undefined;
  /** What is on the screen. */
  let drawn = "";

  const draw = (): void => {
    due = undefined;
    const columns = output.columns || 80;
    const rows = output.rows || 24;
    const { title, rows: shown } = state();
    const label = Math.max(...shown.map(([name]) => name.length), 0) + 3;
    const head = [
      styleText("bold", title),
      "",
      ...shown.map(([name, value]) => `${styleText("dim", name.padEnd(label))}${value}`),
      "",
    ];
    const recent = requests.toReversed().map((line) => renderRequest(line, columns - 1));
    // The cursor's own line is below.
    const lines = [...head, ...recent].slice(0, Math.max(1, rows - 1));
    const text = lines.map((line) => `\u001B[2K${fit(line, columns - 1)}`).join("\n");
    // A terminal may be far away: what it shows already is not sent again.
    if (text === drawn && size === `${columns} ${rows}`) return;
    drawn = text;
    output.write(`${start(columns, rows)}${text}\n\u001B[J`);
    height = lines.length;
  };
  /** Goes to where the drawing before began. Where that is after a change of size, only the terminal knows. */
  const start = (columns: number, rows: number): string => {
    const before = size;
    size = `${columns} ${rows}`;
    if (height === 0) return "\r";
    return before === size ? `\u001B[${height}A\r` : "\u001B[H\u001B[2J";
  };
  const soon = (): void => {
    due ??= clock.after(redrawMs, draw);
  };
  const looking = clock.every(lookMs, soon);
  output.on("resize", soon);
  return {
    changed: soon,
    redraw() {
      size = "";
      soon();
    },
    request(line) {
      requests.push(line);
      if (requests.length > shownRequests) requests = requests.slice(-shownRequests);
      soon();
    },
    close() {
      output.off("resize", soon);
      looking.cancel();
      due?.cancel();
      draw();
    },
  };
}
