/** Clients and ports for bare connections. The clients see every byte. */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";

export interface Ended {
  readonly text: string;
  /** Code of the error that ended the connection. */
  readonly error: string | undefined;
}

/** Reads until the connection ends in that direction. Returns the data and how it ended. */
export function readToEnd(socket: Socket): Promise<Ended> {
  let text = "";
  return new Promise((resolve) => {
    socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    socket.on("end", () => resolve({ text, error: undefined }));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve({ text, error: error.code }));
    socket.on("close", () => resolve({ text, error: undefined }));
  });
}

/** Connects to a loopback port; rejects if the connection is refused. */
export async function dialPort(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/**
 * Returns what a connection receives after it sends `text`. A connection that is cut off immediately receives nothing.
 */
export function visit(port: number, text = ""): Promise<Ended> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.write(text);
  const ended = readToEnd(socket);
  void ended.then(() => socket.destroy());
  return ended;
}

/** Resolves when connections to the port are accepted, or are refused. */
export async function portIs(state: "open" | "closed", port: number): Promise<void> {
  for (;;) {
    const socket = connect({ port, host: "127.0.0.1" });
    const refused = await once(socket, "connect").then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "ECONNREFUSED",
    );
    socket.destroy();
    if (refused === (state === "closed")) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/**
 * Below the ports that systems assign automatically, above all to connections, and below those that servers assign to
 * tunnels. Otherwise such a port could be in use before the test uses it.
 */
const [firstPort, portCount] = [10_000, 10_000];

export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPort + randomInt(portCount);
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((done) => server.close(done));
    return port;
  }
}
