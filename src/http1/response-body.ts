import { isBodiless } from "./bodiless.ts";
import type { BodyReader } from "./body-reader.ts";
import type { ResponseRead } from "./read-response.ts";

export interface ResponseBody {
  /** Bytes of the body; -1 when only its end will tell. */
  readonly length: number;
  /** The connection may carry another response behind it. */
  readonly leavesReusable: boolean;
}

/** How a response's body is framed (RFC 9112 §6.3): sets the reader to it. @param isHead it answers a HEAD */
export function startResponseBody(
  body: BodyReader,
  { fields, status, minorVersion }: ResponseRead,
  isHead: boolean,
): ResponseBody {
  const stays = !fields.connectionClose && (minorVersion === 1 || fields.connectionKeepAlive);
  if (isHead || isBodiless(status)) {
    body.startLength(0);
    // A 204 has no body whatever it says; where it says that it has one, that may be on its way.
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
