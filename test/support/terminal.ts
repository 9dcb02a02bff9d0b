/** The parts of a terminal that the live screen uses: wrapping, scrolling, and reflow after a change of size. */
import { EventEmitter } from "node:events";

interface Row {
  text: string;
  /** Whether the line continues in the next row. */
  wrapped: boolean;
}

export class Terminal extends EventEmitter {
  columns: number;
  rows: number;
  #lines: Row[] = [{ text: "", wrapped: false }];
  /** Index of the first visible row. */
  #top = 0;
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  /** Returns the visible rows, without empty ones at the end. */
  seen(): string[] {
    const lines = this.#lines.slice(this.#top, this.#top + this.rows).map(({ text }) => text.trimEnd());
    while (lines.at(-1) === "") lines.pop();
    return lines;
  }

  write(text: string): boolean {
    // oxlint-disable-next-line no-control-regex
    for (const [part] of text.matchAll(/\u001B\[([0-9;?]*)([A-Za-z])|[^]/gu)) {
      if (part.length > 1 && part.startsWith("\u001B["))
        this.#command(part.at(-1) as string, Number.parseInt(part.slice(2), 10) || 0);
      else if (part === "\r") this.#column = 0;
      else if (part === "\n") this.#newLine(false);
      else this.#put(part);
    }
    return true;
  }

  /** Rejoins wrapped lines and wraps them again. The cursor stays in its line. */
  resize(columns: number, rows: number): void {
    const lines: Row[] = [];
    let cursor = 0;
    for (let at = 0; at < this.#lines.length;) {
      let whole = "";
      let hasCursor = false;
      for (let more = true; more; at += 1) {
        const line = this.#lines[at] as Row;
        hasCursor ||= at === this.#row;
        whole += line.text;
        more = line.wrapped && at + 1 < this.#lines.length;
      }
      if (hasCursor) cursor = lines.length;
      const parts = whole.match(new RegExp(`[^]{1,${columns}}`, "gu")) ?? [""];
      lines.push(...parts.map((text, part) => ({ text, wrapped: part + 1 < parts.length })));
    }
    this.columns = columns;
    this.rows = rows;
    this.#lines = lines;
    this.#row = cursor;
    this.#top = Math.max(0, lines.length - rows);
    this.emit("resize");
  }

  #command(letter: string, count: number): void {
    if (letter === "A") this.#row = Math.max(this.#top, this.#row - Math.max(1, count));
    else if (letter === "H") [this.#row, this.#column] = [this.#top, 0];
    else if (letter === "K") this.#line().text = "";
    else if (letter === "J") {
      if (count === 2) for (const line of this.#lines.slice(this.#top)) [line.text, line.wrapped] = ["", false];
      else {
        this.#line().text = this.#line().text.slice(0, this.#column);
        this.#lines.length = this.#row + 1;
      }
    }
  }

  #put(character: string): void {
    if (this.#column >= this.columns) {
      this.#line().wrapped = true;
      this.#newLine(true);
    }
    const line = this.#line();
    line.text = line.text.padEnd(this.#column).slice(0, this.#column) + character + line.text.slice(this.#column + 1);
    this.#column += 1;
  }

  #newLine(isWrap: boolean): void {
    if (!isWrap) this.#line().wrapped = false;
    this.#row += 1;
    this.#column = 0;
    if (this.#row >= this.#lines.length) this.#lines.push({ text: "", wrapped: false });
    this.#top = Math.max(this.#top, this.#row - this.rows + 1);
  }

  #line(): Row {
    return this.#lines[this.#row] as Row;
  }
}
