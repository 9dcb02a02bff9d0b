import type { MessagePort } from "node:worker_threads";
import type { Downward, Link, Upward } from "../../../routing/planes/messages.ts";

/** A link over a message port that may be replaced when the other plane was started anew. */
export interface PortLink<Out, In> extends Link<Out, In> {
  /** From now on messages go through `port`; what the old one still had is lost, as when a line is cut. */
  attach(port: MessagePort): void;
}

/** The control plane's end: an edge that is new to it says hello by itself. */
export function portLink<Out, In>(): PortLink<Out, In> {
  let port: MessagePort | undefined;
  let handler: ((message: In) => void) | undefined;
  // Listening starts the port: before there is a handler, what comes waits in it.
  const listen = (): void => {
    const current = port;
    if (!current || !handler) return;
    current.on("message", (text: string) => {
      if (port === current) handler?.(JSON.parse(text) as In);
    });
  };
  return {
    // A large configuration crosses as text in two thirds of the time that cloning its objects takes.
    send: (message) => port?.postMessage(JSON.stringify(message)),
    receive(take) {
      handler = take;
      listen();
    },
    attach(next) {
      port?.close();
      port = next;
      listen();
    },
  };
}

export interface EdgePortLink extends PortLink<Upward, Downward> {
  /** Resolves when the edge has put a configuration into effect. */
  readonly configured: Promise<void>;
}

/**
 * The edge's end: says hello to a control plane that was started anew, and tells it again of the sessions and
 * tunnels that are open.
 */
export function edgePortLink(): EdgePortLink {
  const configured = Promise.withResolvers<void>();
  const line = portLink<Upward, Downward>();
  let hello: Upward | undefined;
  let draining: Upward | undefined;
  const sessions = new Map<string, Upward>();
  const tunnels = new Map<string, Upward>();
  return {
    configured: configured.promise,
    receive: (take) => line.receive(take),
    send(message) {
      if (message.type === "hello") hello = message;
      else if (message.type === "draining") draining = message;
      else if (message.type === "applied") configured.resolve();
      else if (message.type === "session_opened") sessions.set(message.session.id, message);
      else if (message.type === "session_closed") sessions.delete(message.sessionId);
      else if (message.type === "tunnel_opened") tunnels.set(message.tunnel.id, message);
      else if (message.type === "tunnel_closed") tunnels.delete(message.tunnelId);
      line.send(message);
    },
    attach(port) {
      line.attach(port);
      if (hello) line.send(hello);
      if (draining) line.send(draining);
      for (const message of sessions.values()) line.send(message);
      for (const message of tunnels.values()) line.send(message);
    },
  };
}
