/** The PROXY protocol header: measured so that it can be skipped, or written for a connection without a client. */

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const longestLine = 107;
const fixedBytes = 16;
const lf = 10;

/** Returns the length of the header at the start of `bytes`: 0 if there is none, undefined while it is incomplete. */
export function preambleLength(bytes: Buffer): number | undefined {
  const isBinary = bytes[0] === signature[0];
  if (isBinary) {
    if (bytes.length < fixedBytes) return undefined;
    if (!bytes.subarray(0, signature.length).equals(signature)) return 0;
    const length = fixedBytes + bytes.readUInt16BE(signature.length + 2);
    return bytes.length < length ? undefined : length;
  }
  if (bytes[0] !== 80) return 0;
  const end = bytes.indexOf(lf);
  if (end >= 0) return end + 1;
  return bytes.length > longestLine ? 0 : undefined;
}

/** Writes the header of a connection that the agent opened for itself (version 1: UNKNOWN, version 2: LOCAL). */
export function encodeOwnPreamble(version: 0 | 1 | 2): Buffer {
  if (version === 0) return Buffer.alloc(0);
  return version === 1
    ? Buffer.from("PROXY UNKNOWN\r\n", "latin1")
    : Buffer.concat([signature, Buffer.from([0x20, 0, 0, 0])]);
}
