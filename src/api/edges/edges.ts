/** The edges that this control plane configures: a line to each, and those who are told what comes over them. */
import type { Downward, Link, Upward } from "../../routing/planes/messages.ts";

/** The line to one edge at a time: to the one that said hello last, or to none that is known yet. */
export interface EdgeLine {
  /** As the edge's hello says; undefined before it, and when the edge has gone. */
  readonly edgeId: string | undefined;
  send(message: Downward): void;
}

/**
 * Is told of every message, in order. A hello begins a line anew: what was reported over it before is over, as the
 * edge was started again or takes this control plane for a new one, and tells everything that holds once more. An edge that is gone leaves nothing behind.
 */
export interface EdgeObserver {
  receive(message: Upward, line: EdgeLine): void;
}

export interface Edges {
  readonly lines: readonly EdgeLine[];
  /** Lines over which an edge has said hello. */
  joined(): readonly EdgeLine[];
  /** The port of HTTPS in public URLs, as an edge has said; undefined before. */
  httpsPort(): number | undefined;
  /** The port of the agent listener, as an edge has said; undefined before. */
  agentPort(): number | undefined;
  /** Starts listening; each message goes to the observers in this order. Called once. */
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
