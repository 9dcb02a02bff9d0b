import { isHopByHop } from "../../../http1/field-table.ts";
import { known } from "../../../http1/known-fields.ts";
import type { FieldTable } from "../../../http1/field-table.ts";
import type { RequestRead } from "../../../http1/read-request.ts";
import { flag, frameHeaderBytes, frameType, maxFrameBytes, putFrameHeader } from "../../../http2/http2-frames.ts";
import { maxEncodedSize, encodeField, encodeFields } from "../../../http2/hpack-encoder.ts";

/** Size of the names and lengths of the pseudo-fields, and of `te`, bytes. */
const ownBytes = 128;

/**
 * Returns the frames of a request's head (RFC 9113 §8.3.1). Removes the fields of the HTTP/1.1 connection. Always adds
 * `te: trailers`, because some services (such as gRPC) require it.
 *
 * @param tableShrunk whether the peer keeps a smaller table than the default. The block then announces that no table is
 * used
 */
export function renderRequestHead(
  streamId: number,
  head: RequestRead,
  endStream: boolean,
  tableShrunk: boolean,
): Buffer {
  const { method, target, fields } = head;
  const authority = fields.get("host") ?? "";
  for (let index = 0; index < fields.count; index += 1) {
    const id = fields.knownAt(index);
    if (id === known.host || (id > 0 && isHopByHop(id))) fields.drop(index);
  }
  const size = ownBytes + method.length + target.length + authority.length + maxEncodedSize(fields);
  const block = Buffer.allocUnsafe(size);
  let at = 0;
  if (tableShrunk) {
    block[at] = 0x20;
    at += 1;
  }
  at = encodeField(block, at, ":method", method);
  at = encodeField(block, at, ":scheme", "http");
  at = encodeField(block, at, ":authority", authority);
  at = encodeField(block, at, ":path", target);
  at = encodeFields(block, at, fields);
  at = encodeField(block, at, "te", "trailers");
  return renderBlock(streamId, block.subarray(0, at), endStream);
}

/** Returns the frames of trailers, which end the stream. */
export function renderTrailers(streamId: number, fields: FieldTable, tableShrunk: boolean): Buffer {
  const block = Buffer.allocUnsafe(1 + maxEncodedSize(fields));
  if (tableShrunk) block[0] = 0x20;
  const at = encodeFields(block, tableShrunk ? 1 : 0, fields);
  return renderBlock(streamId, block.subarray(0, at), true);
}

/** Returns HEADERS, and CONTINUATION frames as needed. */
function renderBlock(streamId: number, block: Buffer, endStream: boolean): Buffer {
  const count = Math.max(1, Math.ceil(block.length / maxFrameBytes));
  const frames = Buffer.allocUnsafe(count * frameHeaderBytes + block.length);
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    const part = block.subarray(index * maxFrameBytes, (index + 1) * maxFrameBytes);
    const isFirst = index === 0;
    const flags = (isFirst && endStream ? flag.endStream : 0) | (index === count - 1 ? flag.endHeaders : 0);
    const type = isFirst ? frameType.headers : frameType.continuation;
    at = putFrameHeader(frames, at, part.length, type, flags, streamId);
    at += part.copy(frames, at);
  }
  return frames;
}
