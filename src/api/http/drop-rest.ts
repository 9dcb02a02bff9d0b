/** Ends a connection whose client is still sending a rejected body. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { UnreadRest } from "../../lib/unread-rest.ts";

/**
 * Reads and drops the rest of the body before the connection closes after the response. A client that is cut off while
 * sending may lose the response. Call this before the response, which has `Connection: close`.
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
  // Node calls this after the response, even if the client is still sending.
  socket.destroySoon = () => {
    if (request.complete) return destroySoon();
    socket.end();
    request.once("end", destroySoon);
  };
}
