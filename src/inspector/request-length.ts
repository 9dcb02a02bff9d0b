/** How far a request reaches, without reading it: no more than is needed to tell where the next one begins. */

/** Longer heads are read. */
const maxHeadBytes = 8_192;
/** What says how a request goes on (RFC 9112 §6.3), or that it does not go on as HTTP. */
const framing = /\r\n(?:content-length: *(\d{1,9})\r|content-length|transfer-encoding|upgrade)/gi;
const emptyLine = "\r\n\r\n";

/**
 * Bytes of the request's head and body, of which some may be in `bytes`; -1 where a part of the head is missing, or where it
 * has to be read to know: with a transfer coding, another protocol that is asked for, or CONNECT.
 */
export function requestLength(bytes: Buffer): number {
  // A loop over the bytes would take ten times as long as these expressions.
  const text = bytes.latin1Slice(0, Math.min(bytes.length, maxHeadBytes));
  const end = text.indexOf(emptyLine);
  if (end < 0 || text.startsWith("CONNECT")) return -1;
  framing.lastIndex = 0;
  const found = framing.exec(text);
  const headLength = end + emptyLine.length;
  if (!found || found.index >= end) return headLength;
  framing.lastIndex -= 1;
  const isSingle = (framing.exec(text)?.index ?? end) >= end;
  return isSingle && found[1] !== undefined ? headLength + Number(found[1]) : -1;
}
