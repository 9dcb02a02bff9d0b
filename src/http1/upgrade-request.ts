/**
 * Protocol upgrades of a connection (RFC 9110 §7.8): the protocols that a client offers, and whether a 101 response
 * selects one.
 */
import { isHttpToken } from "../lib/http-token.ts";
import { websocketProof } from "../lib/websocket-proof.ts";
import { equalsText } from "./bytes.ts";
import type { FieldTable } from "./field-table.ts";

/**
 * Protocols that are not offered to the upstream. After a switch to any form of HTTP, or to TLS with HTTP inside,
 * requests would bypass the edge (W5). A WebSocket must be requested alone.
 */
const withheld: ReadonlySet<string> = new Set(["h2", "h2c", "http", "tls", "websocket"]);

/**
 * Returns the part of an Upgrade field to offer to the upstream: "websocket", or the protocols that are passed through
 * as bytes, in the client's order; "" if there are none. A request without an offer is an ordinary request.
 *
 * @param isHandshake whether the request may open a WebSocket: GET without a body (RFC 6455 §4.1)
 */
export function upgradeOffer(value: string, isHandshake: boolean): string {
  if (isHandshake && value.toLowerCase() === "websocket") return "websocket";
  const protocols = listOf(value);
  if (!protocols.every(isProtocol)) return "";
  return protocols.filter((protocol) => !withheld.has(nameOf(protocol))).join(", ");
}

/** The request that a 101 response must match. */
export interface UpgradeRequest {
  /** The result of `upgradeOffer`. */
  readonly upgrade?: string | undefined;
  readonly websocket: boolean;
  readonly headers: { getAll(name: string): readonly string[] };
}

/** Returns why a 101 response does not match the request, as a clause for logs; undefined if it matches. */
export function switchFault(fields: FieldTable, request: UpgradeRequest): string | undefined {
  const { upgrade = "", websocket, headers } = request;
  if (upgrade === "") return "uninvited 101";
  const { upgradeIndex } = fields;
  if (!fields.connectionUpgrade || upgradeIndex < 0) return "a 101 without Upgrade";
  if (!websocket) return takesUp(fields.valueAt(upgradeIndex), upgrade) ? undefined : "a 101 to what was not offered";
  const isWebsocket = equalsText(
    fields.bytes,
    fields.valueStart(upgradeIndex),
    fields.valueEnd(upgradeIndex),
    "websocket",
  );
  if (!isWebsocket) return "a 101 to something other than a WebSocket";
  const keys = headers.getAll("sec-websocket-key");
  const proofs = fields.getAll("sec-websocket-accept");
  const isProven = keys.length === 1 && proofs.length === 1 && proofs[0] === websocketProof(keys[0] as string);
  return isProven ? undefined : "a 101 without the right Sec-WebSocket-Accept";
}

function takesUp(chosen: string, offer: string): boolean {
  const offered = new Set(listOf(offer.toLowerCase()));
  const protocols = listOf(chosen.toLowerCase());
  return protocols.length > 0 && protocols.every((protocol) => offered.has(protocol));
}

function listOf(value: string): readonly string[] {
  return value
    .split(",")
    .map((protocol) => protocol.trim())
    .filter((protocol) => protocol !== "");
}

/** `name` or `name/version`, both tokens. */
function isProtocol(text: string): boolean {
  const mark = text.indexOf("/");
  return mark < 0 ? isHttpToken(text) : isHttpToken(text.slice(0, mark)) && isHttpToken(text.slice(mark + 1));
}

function nameOf(protocol: string): string {
  return protocol.split("/", 1)[0]?.toLowerCase() ?? "";
}
