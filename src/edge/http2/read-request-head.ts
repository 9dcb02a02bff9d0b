import { randomBytes } from "node:crypto";
import { byteClass, targetByte } from "../../http1/bytes.ts";
import { expectsOnlyContinue } from "../../http1/expectation.ts";
import { isHttpToken } from "../../lib/http-token.ts";
import { parseAuthority } from "../../http1/authority.ts";
import type { HostField, HostReader } from "../../http1/host-reader.ts";
import { ReceivedRequest } from "../http/received-request.ts";
import type { HeadBuilder } from "../../http2/head-builder.ts";
import { pseudo } from "../../http2/header-entry.ts";

/** Result of a header block that opens a stream: a request, or why it is invalid. */
export type ReadHead = ReceivedRequest | Malformed;

export interface Malformed {
  /** A clause for logs. */
  readonly fault: string;
  /** Set if the request is well-formed HTTP/2 and can therefore be answered. */
  readonly refusal?: "bad_request" | "headers_too_large" | "uri_too_long";
}

/** Maximum length of a method. The longest registered method has 17 letters. */
const maxMethodBytes = 32;

/**
 * Checks the pseudo-fields (RFC 9113 §8.3.1, RFC 8441; security W3). Each must be present once and before other fields.
 * `:authority` must have no user information and must equal Host if both are sent.
 */
export function readHead(
  head: HeadBuilder,
  scheme: "https" | "http",
  maxTargetBytes: number,
  endStream: boolean,
  hosts: HostReader,
): ReadHead {
  if (head.fault !== "") return { fault: head.fault };
  if (head.pseudo[pseudo[":status"]] !== undefined) return { fault: "pseudo-field of a response" };
  if (head.tooLarge) return { fault: "header list too large", refusal: "headers_too_large" };
  const method = head.pseudo[pseudo[":method"]];
  const target = head.pseudo[pseudo[":path"]];
  const protocol = head.pseudo[pseudo[":protocol"]];
  if (method === undefined || !isHttpToken(method) || method.length > maxMethodBytes)
    return { fault: "invalid :method" };
  const isPlainConnect = method === "CONNECT" && protocol === undefined;
  if (protocol !== undefined && method !== "CONNECT") return { fault: ":protocol without CONNECT" };
  if (isPlainConnect) {
    if (target !== undefined || head.pseudo[pseudo[":scheme"]] !== undefined) return { fault: "CONNECT with a path" };
  } else {
    if (head.pseudo[pseudo[":scheme"]] !== scheme) return { fault: "invalid :scheme" };
    if (target === undefined || target === "") return { fault: "no :path" };
    if (target.length > maxTargetBytes) return { fault: ":path too long", refusal: "uri_too_long" };
    if (target === "*" && method === "OPTIONS") return { fault: "no site for *", refusal: "bad_request" };
    if (!isTarget(target)) return { fault: "invalid :path" };
  }
  const authority = authorityOf(head, hosts);
  if ("fault" in authority) return authority;
  const isWebsocket = protocol !== undefined;
  if (isWebsocket && protocol !== "websocket") return { fault: "unknown :protocol", refusal: "bad_request" };
  const headers = head.build(authority.text);
  if (headers === undefined) return { fault: head.fault };
  if (endStream && headers.contentLength > 0) return { fault: "content-length without DATA" };
  if (isWebsocket) {
    if (endStream || headers.contentLength >= 0) return { fault: "a WebSocket with a body" };
    // An HTTP/1.1 upstream needs a key, which HTTP/2 does not have (RFC 8441 §5).
    headers.set("sec-websocket-key", randomBytes(16).toString("base64"));
  }
  return new ReceivedRequest({
    httpVersion: "2",
    method: isWebsocket ? "GET" : method,
    scheme,
    target: target ?? "/",
    host: authority.host,
    port: authority.port,
    hostField: authority.text,
    headers,
    bodyLength: endStream || isWebsocket ? 0 : headers.contentLength,
    websocket: isWebsocket,
    upgrade: isWebsocket ? "websocket" : "",
    expectsContinue: headers.expectIndex >= 0 && expectsOnlyContinue(headers),
  });
}

function authorityOf(head: HeadBuilder, hosts: HostReader): HostField | Malformed {
  const authority = head.pseudo[pseudo[":authority"]];
  const host = head.hostField();
  const text = authority ?? host;
  if (text === undefined) return { fault: "neither :authority nor Host" };
  const parsed = hosts.readText(text);
  if (parsed === undefined) return { fault: "invalid :authority", refusal: "bad_request" };
  if (host !== undefined && host !== text) {
    const other = parseAuthority(host);
    if (other?.host !== parsed.host || other.port !== parsed.port) {
      return { fault: "Host differs from :authority", refusal: "bad_request" };
    }
  }
  return parsed;
}

/** Whether the target has origin form. */
function isTarget(target: string): boolean {
  if (target.charCodeAt(0) !== 47) return false;
  for (let at = 0; at < target.length; at += 1) {
    if (((byteClass[target.charCodeAt(at)] as number) & targetByte) === 0) return false;
  }
  return true;
}
