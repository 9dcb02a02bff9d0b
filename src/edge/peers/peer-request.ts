/** Start of a stream between edges: a length and the request as JSON. */
import type { Relayed } from "../../routing/planes/messages.ts";
import type { ProxyHeader } from "../../tunnel/server-hooks.ts";

export type PeerRequest =
  /** A stream of a tunnel that the other edge has. Its bytes follow after the answer `opened`. */
  | { readonly name: "open"; readonly header: ProxyHeader }
  /**
   * A question of the requesting node's control plane, for the edge or one of its agents. The answer is `opened`, then
   * JSON until the end.
   */
  | { readonly name: "relay"; readonly message: Relayed }
  /** Whether a session's agent still responds. The answer is `opened` for yes, `gone` for no. */
  | { readonly name: "ask"; readonly sessionId: string }
  /** Durations of requests to a session, see `AgentSession.tellTimes`. The answer is `opened`. */
  | { readonly name: "times"; readonly sessionId: string; readonly times: string };

/** The one byte of the answer. */
export const peerAnswer = { opened: 0, gone: 1, busy: 2 } as const;

/** Maximum size of a request. The API's own limit of bodies also limits a request to explain. */
export const maxRequestBytes = 2 * 1024 * 1024;

export function renderPeerRequest(request: PeerRequest): Buffer {
  const plain =
    request.name === "open" && request.header.preamble
      ? { ...request, header: { ...request.header, preamble: Buffer.from(request.header.preamble).toString("base64") } }
      : request;
  const text = Buffer.from(`0000${JSON.stringify(plain)}`);
  text.writeUInt32BE(text.length - 4);
  return text;
}

const known: readonly unknown[] = ["open", "relay", "ask", "times"] satisfies PeerRequest["name"][];

/** Returns undefined for a request of a newer version. Throws if the text is not a request. */
export function parsePeerRequest(text: string): PeerRequest | undefined {
  const request = JSON.parse(text) as PeerRequest;
  if (typeof request.name !== "string") throw new Error("a peer's request has no name");
  if (!known.includes(request.name)) return undefined;
  if (request.name !== "open") return request;
  const { preamble, ...header } = request.header;
  if (preamble === undefined) return request;
  return { name: "open", header: { ...header, preamble: Buffer.from(String(preamble), "base64") } };
}
