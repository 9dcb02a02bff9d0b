/** What commands print: colours are ours alone, and nothing else that a terminal would obey reaches it. */
import { randomBytes } from "node:crypto";
import { styleText } from "node:util";
import { visibleText } from "../../lib/visible-text.ts";

/** Stands for an escape of ours until the stream is reached: no stranger knows it. */
const ownEscape = `\u{f0000}${randomBytes(9).toString("base64url")}\u{f0000}`;

type Write = NodeJS.WriteStream["write"];

/** The streams that are guarded, with the way around the guard. */
const unguarded = new Map<NodeJS.WriteStream, Write>();

/** Colours text where `stream` takes colours. */
export function style(format: Parameters<typeof styleText>[0], text: string, stream: NodeJS.WritableStream): string {
  return styleText(format, text, { stream }).replaceAll("\u001b", ownEscape);
}

/** Guards standard output and error until the returned function is called. */
export function guardOutput(): () => void {
  const guarded = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write;
    const direct = write.bind(stream) as Write;
    unguarded.set(stream, direct);
    stream.write = ((given: string | Uint8Array, ...more: unknown[]) => {
      const isText = typeof given === "string" || stream.isTTY;
      const text = isText ? visibleText(typeof given === "string" ? given : Buffer.from(given).toString()) : given;
      return (direct as (...args: unknown[]) => boolean)(
        typeof text === "string" ? text.replaceAll(ownEscape, "\u001b") : text,
        ...more,
      );
    }) as Write;
    return () => {
      stream.write = write;
      unguarded.delete(stream);
    };
  });
  return () => {
    for (const release of guarded) release();
  };
}

/** Writes what draws on the terminal itself. Its texts are made visible where they are drawn. */
export function writeDirectly(stream: NodeJS.WriteStream, text: string): boolean {
  return (unguarded.get(stream) ?? stream.write.bind(stream))(text);
}

/** Writes a document: byte for byte into a file or pipe, and visibly on a terminal. */
export function writeDocument(stream: NodeJS.WriteStream, text: string): boolean {
  return stream.isTTY ? stream.write(text) : writeDirectly(stream, text);
}
