/** The bytes of a webhook that an inbox seals together: the length of its head, its head as JSON, and its body. */

const lengthBytes = 4;

export function payloadBytes(headBytes: number, bodyBytes: number): number {
  return lengthBytes + headBytes + bodyBytes;
}

/** Writes a payload at an offset of `target`. */
export function writePayload(target: Buffer, at: number, head: string, headBytes: number, body: Uint8Array): void {
  target.writeUInt32BE(headBytes, at);
  target.write(head, at + lengthBytes);
  target.set(body, at + lengthBytes + headBytes);
}

export function inboxPayload(head: string, body: Uint8Array): Buffer {
  const headBytes = Buffer.byteLength(head);
  const payload = Buffer.alloc(payloadBytes(headBytes, body.length));
  writePayload(payload, 0, head, headBytes, body);
  return payload;
}

export function readPayload(payload: Buffer): { readonly head: string; readonly body: Buffer } {
  const end = lengthBytes + payload.readUInt32BE(0);
  return { head: payload.toString("utf8", lengthBytes, end), body: payload.subarray(end) };
}
