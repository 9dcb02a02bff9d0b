/** The end of a connection whose client still sends a body that was refused. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";

/**
 * Reads the rest of the body and drops it before the connection closes behind the answer: a client that is cut off while
 * it still sends may lose the answer. Call it before the answer, which says `Connection: close`.
 */
export function dropRest(request: IncomingMessage, clock: Pick<Clock, "monotonic" | "after">): void {
  const { socket } = request;
  const rest = new UnreadRest(clock.monotonic());
  const destroySoon = socket.destroySoon.bind(socket);
  const look = (): void => {
    const leftMs = rest.expiresAt - clock.monotonic();
    if (leftMs <= 0) socket.destroy();
    else timer = clock.after(leftMs, look);
  };
  let timer = clock.after(rest.expiresAt - clock.monotonic(), look);
  socket.once("close", () => timer.cancel());
  request.on("data", (bytes: Buffer) => {
    if (!rest.drop(bytes.length, clock.monotonic())) socket.destroy();
  });
  // Node closes behind the answer by this, whether or not the client still sends.
  socket.destroySoon = () => {
    if (request.complete) return destroySoon();
    socket.end();
    request.once("end", destroySoon);
  };
}
