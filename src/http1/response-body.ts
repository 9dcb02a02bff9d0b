import { isBodiless } from "./bodiless.ts";
import type { BodyReader } from "./body-reader.ts";
import type { ResponseRead } from "./read-response.ts";

export interface ResponseBody {
  /** Length of the body; -1 if only its end determines it. */
  readonly length: number;
  /** Whether the connection can carry another response. */
  readonly leavesReusable: boolean;
}

/**
 * Prepares the reader for a response's body (RFC 9112 §6.3).
 * @param isHead the response answers a HEAD request
 */
export function startResponseBody(
  body: BodyReader,
  { fields, status, minorVersion }: ResponseRead,
  isHead: boolean,
): ResponseBody {
  const stays = !fields.connectionClose && (minorVersion === 1 || fields.connectionKeepAlive);
  if (isHead || isBodiless(status)) {
    body.startLength(0);
    // A 204 response has no body. If its fields announce one, that body may still arrive.
    const claimsBody = status === 204 && (fields.chunked || fields.contentLength > 0);
    return { length: 0, leavesReusable: stays && !claimsBody };
  }
  if (fields.chunked) {
    body.startChunked();
    return { length: -1, leavesReusable: stays };
  }
  if (fields.contentLength >= 0) {
    body.startLength(fields.contentLength);
    return { length: fields.contentLength, leavesReusable: stays };
  }
  body.startUntilClose();
  return { length: -1, leavesReusable: false };
}
