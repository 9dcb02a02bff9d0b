import type { Socket } from "node:net";
import { guardListener } from "../../lib/boundary.ts";
import { readOn } from "../../lib/io/turn-reader.ts";

export type Look =
  /** Call again when this many bytes in total have arrived. */
  | { readonly atLeast: number }
  /** Enough was read. All but the first `taken` bytes are put back, then `next` is called. */
  | { readonly taken: number; next(): void };

/**
 * Reads a paused socket until `look` has enough bytes, and passes it everything read so far. Leaves the socket paused.
 * If the peer ends first, destroys the socket without further calls.
 */
export function peekAtSocket(socket: Socket, look: (bytes: Buffer) => Look): void {
  let before: Buffer[] = [];
  let length = 0;
  let needed = 1;
  const onData = guardListener(socket, (chunk: Buffer): void => {
    readOn(socket);
    length += chunk.length;
    if (length < needed) {
      before.push(chunk);
      return;
    }
    const bytes = before.length === 0 ? chunk : Buffer.concat([...before, chunk]);
    const result = look(bytes);
    if ("atLeast" in result) {
      before = [bytes];
      needed = result.atLeast;
      return;
    }
    socket.removeListener("data", onData);
    socket.removeListener("end", onEnd);
    socket.pause();
    if (result.taken < bytes.length) socket.unshift(result.taken === 0 ? bytes : bytes.subarray(result.taken));
    result.next();
  });
  const onEnd = guardListener(socket, () => void socket.destroy());
  socket.on("data", onData);
  socket.on("end", onEnd);
  socket.resume();
}
