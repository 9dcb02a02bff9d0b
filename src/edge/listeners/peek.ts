import type { Socket } from "node:net";

export type Look =
  /** Come again when there are so many bytes in all. */
  | { readonly atLeast: number }
  /** Seen enough: all but the first `taken` bytes are put back, then `next` is called. */
  | { readonly taken: number; next(): void };

/**
 * Reads a paused socket until `look`, given everything so far, has seen enough; leaves it paused. A socket whose
 * peer ends before that is destroyed, and nothing more is called.
 */
export function peek(socket: Socket, look: (bytes: Buffer) => Look): void {
  let seen: Buffer[] = [];
  let length = 0;
  let needed = 1;
  const onData = (chunk: Buffer): void => {
    seen.push(chunk);
    length += chunk.length;
    if (length < needed) return;
    const bytes = seen.length === 1 ? chunk : Buffer.concat(seen);
    const result = look(bytes);
    if ("atLeast" in result) {
      seen = [bytes];
      needed = result.atLeast;
      return;
    }
    socket.removeListener("data", onData);
    socket.removeListener("end", onEnd);
    socket.pause();
    if (result.taken < bytes.length) socket.unshift(bytes.subarray(result.taken));
    result.next();
  };
  const onEnd = (): void => {
    socket.destroy();
  };
  socket.on("data", onData);
  socket.on("end", onEnd);
  socket.resume();
}
