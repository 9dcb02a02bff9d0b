import { HostReader } from "../http1/host-reader.ts";
import { emptyFields } from "../http1/field-table.ts";
import type { FieldTable } from "../http1/field-table.ts";
import { readRequestHead } from "../http1/read-request.ts";
import type { HttpLimits } from "../edge/http/http-context.ts";
import { receiveHttp1 } from "../edge/http/http1-request.ts";
import { ReceivedRequest } from "../edge/http/received-request.ts";
import type { CapturedRequest } from "../capture/captured-request.ts";
import type { HeaderPairs } from "../traffic/header-list.ts";

/** Heads were within the limits when they were received. The form in which they are read here may be longer. */
const growth = 2;
const hosts = new HostReader();

/** The bytes of a recorded head, to be read once for each configuration. */
export function headOf({ request }: CapturedRequest): Buffer {
  const { method, target, authority, headers } = request;
  let text = `${method} ${target} HTTP/1.1\r\n`;
  let hasHost = false;
  for (const [name, value] of headers) {
    hasHost ||= name === "host";
    text += `${name}: ${value}\r\n`;
  }
  if (!hasHost) text += `host: ${authority}\r\n`;
  return Buffer.from(`${text}\r\n`, "latin1");
}

/** Returns the request as the edge received it; undefined if the record has no readable head. */
export function receiveRecorded(
  head: Buffer,
  { request }: CapturedRequest,
  { maxHeadBytes, maxFields, maxTargetBytes }: HttpLimits,
): ReceivedRequest | undefined {
  const limits = { maxHeadBytes: growth * maxHeadBytes, maxFields: growth * maxFields, maxTargetBytes };
  const read = readRequestHead(head, 0, limits);
  if (read === undefined || "outcome" in read) return undefined;
  const received = receiveHttp1(read, request.scheme, hosts);
  if (typeof received === "string") return undefined;
  const { httpVersion, websocket, upgrade } = request;
  if (received.httpVersion === httpVersion && received.upgrade === upgrade) return received;
  const { method, scheme, target, host, port, hostField, headers, bodyLength, expectsContinue } = received;
  const rest = { method, scheme, target, host, port, hostField, headers, bodyLength, expectsContinue };
  return new ReceivedRequest({ ...rest, httpVersion, websocket, upgrade });
}

/** Calls `onRead` with the name whenever one of the values is read. */
export function watchValues(fields: FieldTable, names: readonly string[], onRead: (name: string) => void): void {
  const get = fields.get.bind(fields);
  const getAll = fields.getAll.bind(fields);
  const tell = (name: string): void => {
    const lower = name.toLowerCase();
    if (names.includes(lower) && fields.has(lower)) onRead(lower);
  };
  fields.get = (name) => {
    tell(name);
    return get(name);
  };
  fields.getAll = (name) => {
    tell(name);
    return getAll(name);
  };
}

export function fieldsOf(pairs: CapturedRequest["request"]["headers"]): FieldTable {
  const fields = emptyFields();
  for (const [name, value] of pairs) fields.append(name, value);
  return fields;
}

/** A text that is equal for equal fields in the same order. */
export function textOfFields(fields: HeaderPairs): string {
  let text = "";
  for (const [name, value] of fields) text += `${name}:${value}\n`;
  return text;
}
