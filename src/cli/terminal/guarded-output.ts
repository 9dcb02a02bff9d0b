/** Guards the output of commands: only Postern's own colours reach the terminal, and no other control sequence. */
import { randomBytes } from "node:crypto";
import { styleText } from "node:util";
import { toVisibleText } from "../../lib/visible-text.ts";

/** Placeholder for Postern's own escape until it reaches the stream. The text of others cannot contain it. */
const ownEscape = `\u{f0000}${randomBytes(9).toString("base64url")}\u{f0000}`;

type Write = NodeJS.WriteStream["write"];

/** The guarded streams with their original `write`. */
const unguarded = new Map<NodeJS.WriteStream, Write>();

/** Colours text if `stream` supports colours. */
export function styleFor(format: Parameters<typeof styleText>[0], text: string, stream: NodeJS.WritableStream): string {
  return styleText(format, text, { stream }).replaceAll("\u001b", ownEscape);
}

/** Guards standard output and error until the returned function is called. */
export function guardOutput(): () => void {
  const guarded = [process.stdout, process.stderr].map((stream) => {
    const write = stream.write;
    const direct = write.bind(stream) as Write;
    unguarded.set(stream, direct);
    stream.write = ((chunk: string | Uint8Array, ...more: unknown[]) => {
      const isText = typeof chunk === "string" || stream.isTTY;
      const text = isText ? toVisibleText(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()) : chunk;
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

/** Writes control sequences of the terminal directly. The caller makes texts visible before it draws them. */
export function writeDirectly(stream: NodeJS.WriteStream, text: string): boolean {
  return (unguarded.get(stream) ?? stream.write.bind(stream))(text);
}

/** Writes a document: byte for byte to a file or pipe, with visible control characters to a terminal. */
export function writeDocument(stream: NodeJS.WriteStream, text: string): boolean {
  return stream.isTTY ? stream.write(text) : writeDirectly(stream, text);
}
