/** What a stream between edges begins with: a length, and what is asked for as JSON. */
import type { Relayed } from "../../routing/planes/messages.ts";
import type { ProxyHeader } from "../../tunnel/server-hooks.ts";

export type PeerRequest =
  /** A stream of a tunnel that the other edge has: its bytes follow once the answer is `opened`. */
  | { readonly name: "open"; readonly header: ProxyHeader }
  /** What the control plane of the asking node wants to know, or of an agent: answered by `opened` and JSON to the end. */
  | { readonly name: "relay"; readonly message: Relayed }
  /** Whether the agent of a session gives a sign of life: answered by `opened` for yes, `gone` for no. */
  | { readonly name: "ask"; readonly sessionId: string }
  /** How long requests took here that went to a session: see `AgentSession.tellTimes`. Answered by `opened`. */
  | { readonly name: "times"; readonly sessionId: string; readonly times: string };

/** The one byte that answers. */
export const peerAnswer = { opened: 0, gone: 1, busy: 2 } as const;

/** What a request to be explained holds is bounded by the API's own bound of bodies. */
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

/** Undefined for one that only a newer version knows. Throws when it is none. */
export function parsePeerRequest(text: string): PeerRequest | undefined {
  const request = JSON.parse(text) as PeerRequest;
  if (typeof request.name !== "string") throw new Error("a peer's request has no name");
  if (!known.includes(request.name)) return undefined;
  if (request.name !== "open") return request;
  const { preamble, ...header } = request.header;
  if (preamble === undefined) return request;
  return { name: "open", header: { ...header, preamble: Buffer.from(String(preamble), "base64") } };
}
