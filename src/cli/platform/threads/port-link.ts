import type { MessagePort } from "node:worker_threads";
import { runContained } from "../../../lib/boundary.ts";
import type { Downward, Link, Upward } from "../../../routing/planes/messages.ts";

/** A link over a message port that can be replaced when the other plane restarts. */
export interface PortLink<Out, In> extends Link<Out, In> {
  /** Sends all further messages through `port`. Messages in the old port are lost, as on a broken connection. */
  attach(port: MessagePort): void;
}

/**
 * Maximum length of the messages that wait to be passed together, characters. The other thread reads one part of a
 * snapshot while this thread writes the next.
 */
const mostWaiting = 1_048_576;

/**
 * @param bytesOf returns the bytes that are transferred with a message and unusable here afterwards; undefined for most
 * messages, which are plain JSON
 */
function portLink<Out, In>(
  bytesOf: (message: Out) => Uint8Array<ArrayBuffer> | undefined,
): PortLink<Out, In> & { lost(handler: () => void): void } {
  let port: MessagePort | undefined;
  let handler: ((message: In) => void) | undefined;
  let lost: () => void = () => {};
  // Listening starts the port. Without a handler, messages wait in the port.
  const listen = (): void => {
    const current = port;
    if (!current || !handler) return;
    current.on("message", (said: readonly (string | In)[]) => {
      for (const one of said) {
        if (port !== current) return;
        runContained("message", () => handler?.(typeof one === "string" ? (JSON.parse(one) as In) : one));
      }
    });
    current.once("close", () => {
      if (port === current) lost();
    });
  };
  let waiting: (string | Out)[] = [];
  let waitingLength = 0;
  let transferred: ArrayBuffer[] = [];
  const flush = (): void => {
    const [said, buffers] = [waiting, transferred];
    [waiting, waitingLength, transferred] = [[], 0, []];
    if (said.length > 0) port?.postMessage(said, buffers);
  };
  return {
    // A large configuration crosses as text in two thirds of the time that cloning its objects takes. Messages of one
    // turn cross together, because waking the other thread costs more than most messages. They cross no later than
    // that: no client may get a response before the other thread has the messages.
    send(message) {
      if (!port) return;
      if (waiting.length === 0) queueMicrotask(flush);
      const bytes = bytesOf(message);
      if (bytes) {
        transferred.push(bytes.buffer);
        waiting.push(message);
        return;
      }
      const text = JSON.stringify(message);
      waiting.push(text);
      waitingLength += text.length;
      if (waitingLength > mostWaiting) flush();
    },
    receive(take) {
      handler = take;
      listen();
    },
    lost: (tell) => void (lost = tell),
    attach(next) {
      flush();
      port?.close();
      port = next;
      listen();
    },
  };
}

/** The control plane's end. A new edge says hello first, and a dead one is reported immediately. */
export function controlPlanePortLink(): PortLink<Downward, Upward> {
  const line = portLink<Downward, Upward>((message) => {
    if (message.type === "inbox_delivery") return message.body;
    return message.type === "snapshot" ? message.packed?.objects : undefined;
  });
  return {
    ...line,
    receive(take) {
      line.lost(() => take({ type: "gone" }));
      line.receive(take);
    },
  };
}

export interface EdgePortLink extends PortLink<Upward, Downward> {
  /** Resolves when the edge has applied a configuration. */
  readonly configured: Promise<void>;
}

/** The edge's end. Says hello to a restarted control plane and reports its open sessions and tunnels again. */
export function edgePortLink(): EdgePortLink {
  const configured = Promise.withResolvers<void>();
  const line = portLink<Upward, Downward>((message) =>
    message.type === "inbox_messages" ? message.payloads : undefined,
  );
  let hello: Upward | undefined;
  let draining: Upward | undefined;
  const sessions = new Map<string, Upward>();
  const tunnels = new Map<string, Upward>();
  /** A hello starts over, so the open sessions and tunnels are reported again. */
  const greet = (): void => {
    if (!hello) return;
    line.send(hello);
    if (draining) line.send(draining);
    for (const message of sessions.values()) line.send(message);
    for (const message of tunnels.values()) line.send(message);
    line.send({ type: "told" });
  };
  return {
    configured: configured.promise,
    receive: (take) => line.receive(take),
    lost: (tell) => line.lost(tell),
    send(message) {
      if (message.type === "hello") {
        hello = message;
        greet();
        return;
      }
      if (message.type === "draining") draining = message;
      else if (message.type === "applied") configured.resolve();
      else if (message.type === "session_opened") sessions.set(message.session.id, message);
      else if (message.type === "session_closed") sessions.delete(message.sessionId);
      else if (message.type === "tunnel_opened") tunnels.set(message.tunnel.id, message);
      else if (message.type === "tunnel_closed") tunnels.delete(message.tunnelId);
      line.send(message);
    },
    attach(port) {
      line.attach(port);
      greet();
    },
  };
}
