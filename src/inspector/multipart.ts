/** Parts of a multipart body (RFC 2046 §5.1, RFC 7578), as far as it was kept. */
import { isUtf8 } from "node:buffer";

/** Shown of one body. */
const maxParts = 200;
const maxTextBytes = 65_536;

export interface Part {
  /** "" where it has none. */
  readonly name: string;
  readonly fileName: string | undefined;
  /** "" where it says none: text (RFC 7578 §4.4). */
  readonly type: string;
  readonly bytes: number;
  /** Undefined for files that are none, and for long ones. */
  readonly text: string | undefined;
  /** Its end has not come, or was not kept. */
  readonly isCut: boolean;
}

/** Undefined without a boundary. @param contentType the whole field */
export function readParts(body: Buffer, contentType: string): Part[] | undefined {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) return undefined;
  // The first delimiter may have nothing in front of it.
  const bytes = Buffer.concat([Buffer.from("\r\n"), body]);
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const parts: Part[] = [];
  let at = bytes.indexOf(delimiter);
  while (at >= 0 && parts.length < maxParts) {
    const start = at + delimiter.length;
    if (bytes.toString("latin1", start, start + 2) === "--") break;
    const next = bytes.indexOf(delimiter, start);
    // White space may stand behind a delimiter.
    const begin = bytes.indexOf("\r\n", start) + 2;
    if (begin < 2 || (next >= 0 && begin > next + 2)) break;
    parts.push(partOf(bytes.subarray(begin, next < 0 ? bytes.length : Math.max(begin, next)), next < 0));
    at = next;
  }
  return parts;
}

function partOf(bytes: Buffer, isCut: boolean): Part {
  const hasNoHead = bytes.toString("latin1", 0, 2) === "\r\n";
  const end = hasNoHead ? 0 : bytes.indexOf("\r\n\r\n");
  const head = end < 0 ? bytes : bytes.subarray(0, end);
  const content = end < 0 ? bytes.subarray(bytes.length) : bytes.subarray(end + (hasNoHead ? 2 : 4));
  const fields = head.toString("utf8").replaceAll(/\r\n[ \t]+/g, " ");
  const disposition = /^content-disposition:(.*)$/im.exec(fields)?.[1] ?? "";
  const type = /^content-type:\s*(.*?)\s*$/im.exec(fields)?.[1] ?? "";
  const isText = !content.includes(0) && content.length <= maxTextBytes && isUtf8(content);
  return {
    name: parameter(disposition, "name") ?? "",
    fileName: parameter(disposition, "filename"),
    type,
    bytes: content.length,
    text: isText ? content.toString("utf8") : undefined,
    isCut,
  };
}

/** Browsers write `"` as `%22` and no backslashes; others write both with one (RFC 9110 §5.6.4). */
function parameter(disposition: string, name: string): string | undefined {
  const [, quoted, plain] =
    new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, "i").exec(disposition) ?? [];
  return quoted?.replaceAll(/\\(["\\])/g, "$1").replaceAll("%22", '"') ?? plain;
}
