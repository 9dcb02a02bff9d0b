import { createHash } from "node:crypto";

/**
 * Returns a server's response to a client's Sec-WebSocket-Key, which proves that it supports WebSocket (RFC 6455
 * §4.2.2).
 */
export function websocketProof(key: string): string {
  // RFC 6455 §1.3 fixes the text.
  return createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
}
