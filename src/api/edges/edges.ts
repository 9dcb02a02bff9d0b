/** The edges that this control plane configures: a line to each, and the observers of their messages. */
import type { Downward, Link, Upward } from "../../routing/planes/messages.ts";

/** A line to one edge at a time. It leads to the edge that sent the last hello, or to none before the first hello. */
export interface EdgeLine {
  /** Id from the edge's hello. Undefined before it, and after the edge has disconnected. */
  readonly edgeId: string | undefined;
  send(message: Downward): void;
}

/**
 * Receives every message in order. A hello resets the line, because the edge restarted or considers this control plane
 * new. The edge then reports its whole state again. A disconnected edge leaves no state.
 */
export interface EdgeObserver {
  receive(message: Upward, line: EdgeLine): void;
}

export interface Edges {
  readonly lines: readonly EdgeLine[];
  /** Returns the lines over which an edge has sent a hello. */
  joined(): readonly EdgeLine[];
  /** Returns the HTTPS port in public URLs, from an edge's hello. Undefined before it. */
  httpsPort(): number | undefined;
  /** Returns the port of the agent listener, from an edge's hello. Undefined before it. */
  agentPort(): number | undefined;
  /** Starts listening. Each message goes to the observers in this order. Called once. */
  follow(observers: readonly EdgeObserver[]): void;
}

type Listening = EdgeLine & { edgeId: string | undefined };

export function makeEdges(links: readonly Link<Downward, Upward>[]): Edges {
  let httpsPort: number | undefined;
  let agentPort: number | undefined;
  const lines = links.map((link): Listening => ({ edgeId: undefined, send: (message) => link.send(message) }));
  return {
    lines,
    httpsPort: () => httpsPort,
    agentPort: () => agentPort,
    joined: () => lines.filter(({ edgeId }) => edgeId !== undefined),
    follow(observers) {
      for (const [at, line] of lines.entries()) {
        links[at]?.receive((message) => {
          if (message.type === "gone") line.edgeId = undefined;
          if (message.type === "hello") {
            line.edgeId = message.edgeId;
            httpsPort = message.httpsPort ?? httpsPort;
            agentPort = message.agentPort ?? agentPort;
          }
          for (const observer of observers) observer.receive(message, line);
        });
      }
    },
  };
}
