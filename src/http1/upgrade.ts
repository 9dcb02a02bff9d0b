/** Changing the protocol of a connection (RFC 9110 §7.8): what a client offers, and whether a 101 takes it up. */
import { isHttpToken } from "../lib/http-token.ts";
import { websocketProof } from "../lib/websocket-proof.ts";
import { equalsText } from "./bytes.ts";
import type { FieldTable } from "./field-table.ts";

/**
 * Names that are not offered on as they come. Behind HTTP in any form, and TLS with HTTP in it, requests would follow
 * that nobody here sees (W5); a WebSocket is asked for by itself, or not at all.
 */
const withheld: ReadonlySet<string> = new Set(["h2", "h2c", "http", "tls", "websocket"]);

/**
 * What an Upgrade field offers to the upstream: "websocket", or the protocols that are passed on as bytes, in the
 * client's order; "" when there are none. A request that offers nothing is an ordinary one.
 *
 * @param isHandshake whether the request may open a WebSocket: GET without a body (RFC 6455 §4.1)
 */
export function upgradeOffer(value: string, isHandshake: boolean): string {
  if (isHandshake && value.toLowerCase() === "websocket") return "websocket";
  const protocols = listOf(value);
  if (!protocols.every(isProtocol)) return "";
  return protocols.filter((protocol) => !withheld.has(nameOf(protocol))).join(", ");
}

/** What a 101 must answer to. */
export interface UpgradeRequest {
  /** As `upgradeOffer` has it. */
  readonly upgrade?: string | undefined;
  readonly websocket: boolean;
  readonly headers: { getAll(name: string): readonly string[] };
}

/** What is wrong with a 101 as an answer to the request, as a clause for logs; undefined when it holds. */
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
