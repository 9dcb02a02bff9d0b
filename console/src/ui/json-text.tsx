/** Shows JSON with colors. */
import { Fragment } from "preact";

/** Each piece is an element, so longer texts have no colors. */
const maxColored = 64 * 1024;
/** A string with its colon if it is a key, a number, or a word. */
const pieces = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(?:true|false|null)\b/g;

export interface JsonPiece {
  readonly kind: "key" | "string" | "number" | "word" | "rest";
  readonly text: string;
}

/** Splits valid JSON into pieces, which joined are the text. */
export function jsonPieces(text: string): JsonPiece[] {
  const found: JsonPiece[] = [];
  let end = 0;
  const rest = (until: number): void => {
    if (until > end) found.push({ kind: "rest", text: text.slice(end, until) });
  };
  for (const match of text.matchAll(pieces)) {
    const [whole, quoted, colon, number] = match;
    rest(match.index);
    if (quoted !== undefined) found.push({ kind: colon === undefined ? "string" : "key", text: quoted });
    else found.push({ kind: number === undefined ? "word" : "number", text: whole });
    end = match.index + (quoted ?? whole).length;
  }
  rest(text.length);
  return found;
}

/** @param text valid JSON */
export function JsonText({ text }: { readonly text: string }) {
  const shown = text.length > maxColored ? [{ kind: "rest", text } as const] : jsonPieces(text);
  return (
    <pre class="box mono json">
      {shown.map(({ kind, text: part }, at) =>
        kind === "rest" ? (
          <Fragment key={at}>{part}</Fragment>
        ) : (
          <span key={at} class={kind}>
            {part}
          </span>
        ),
      )}
    </pre>
  );
}
