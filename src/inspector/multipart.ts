/** Decodes the captured parts of a multipart body (RFC 2046 §5.1, RFC 7578). */
import { isUtf8 } from "node:buffer";

/** Maximum number of parts shown per body. */
const maxParts = 200;
const maxTextBytes = 65_536;

export interface MultipartPart {
  /** "" if the part has no name. */
  readonly name: string;
  readonly fileName: string | undefined;
  /** Empty if the part states no type, which means text (RFC 7578 §4.4). */
  readonly type: string;
  readonly bytes: number;
  /** Undefined for binary and for long parts. */
  readonly text: string | undefined;
  /** Whether the end of the part is missing or was not captured. */
  readonly isCut: boolean;
}

/** Returns undefined without a boundary. @param contentType the whole field value */
export function readParts(body: Buffer, contentType: string): MultipartPart[] | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  // The first delimiter may start the body.
  const bytes = Buffer.concat([Buffer.from("\r\n"), body]);
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const parts: MultipartPart[] = [];
  let at = bytes.indexOf(delimiter);
  while (at >= 0 && parts.length < maxParts) {
    const start = at + delimiter.length;
    if (bytes.toString("latin1", start, start + 2) === "--") break;
    const next = bytes.indexOf(delimiter, start);
    // White space may follow a delimiter.
    const begin = bytes.indexOf("\r\n", start) + 2;
    if (begin < 2 || (next >= 0 && begin > next + 2)) break;
    parts.push(partOf(bytes.subarray(begin, next < 0 ? bytes.length : Math.max(begin, next)), next < 0));
    at = next;
  }
  return parts;
}

function partOf(bytes: Buffer, isCut: boolean): MultipartPart {
  const hasNoHead = bytes.toString("latin1", 0, 2) === "\r\n";
  const end = hasNoHead ? 0 : bytes.indexOf("\r\n\r\n");
  const head = end < 0 ? bytes : bytes.subarray(0, end);
  const content = end < 0 ? bytes.subarray(bytes.length) : bytes.subarray(end + (hasNoHead ? 2 : 4));
  const fields = head.toString("utf8").replaceAll(/\r\n[ \t]+/g, " ");
  const disposition = /^content-disposition:(.*)$/im.exec(fields)?.[1] ?? "";
  const type = /^content-type:\s*(.*?)\s*$/im.exec(fields)?.[1] ?? "";
  const isText = !content.includes(0) && content.length <= maxTextBytes && isUtf8(content);
  return {
    name: readParameter(disposition, "name") ?? "",
    fileName: readParameter(disposition, "filename"),
    type,
    bytes: content.length,
    text: isText ? content.toString("utf8") : undefined,
    isCut,
  };
}

/**
 * Browsers write `"` as `%22` and do not escape backslashes. Other clients escape both with a backslash (RFC 9110
 * §5.6.4).
 */
function readParameter(disposition: string, name: string): string | undefined {
  const [, quoted, plain] =
    new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(["\\])/g, "$1").replaceAll("%22", '"') ?? plain;
}
