import { originForm, parseAuthority } from "../../http1/authority.ts";
import { equalsText } from "../../http1/bytes.ts";
import { expectsOnlyContinue } from "../../http1/expectation.ts";
import type { FieldTable } from "../../http1/field-table.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import { ReceivedRequest } from "./received-request.ts";

/** The request of an HTTP/1 head, or what is wrong with its Host or target, as a clause for logs. */
export function receiveHttp1(head: RequestRead, scheme: "https" | "http"): ReceivedRequest | string {
  const { fields, method } = head;
  const authority = parseAuthority(fields.valueAt(fields.hostIndex));
  if (authority === undefined) return "invalid Host";
  const target = originForm(head.target, authority);
  if (target === undefined && method !== "CONNECT") return "invalid request target";
  const isOld = head.minorVersion === 0;
  const bodyLength = fields.chunked ? -1 : Math.max(0, fields.contentLength);
  return new ReceivedRequest({
    httpVersion: isOld ? "1.0" : "1.1",
    method,
    scheme,
    target: target ?? "/",
    host: authority.host,
    port: authority.port,
    headers: fields,
    bodyLength,
    websocket: !isOld && bodyLength === 0 && asksForWebsocket(head),
    expectsContinue: !isOld && fields.expectIndex >= 0 && expectsOnlyContinue(fields),
  });
}

/** RFC 6455 §4.1; other protocols, h2c among them, are not offered: the request is answered as it is (W5). */
function asksForWebsocket({ fields, method }: RequestRead): boolean {
  return fields.connectionUpgrade && method === "GET" && fieldIs(fields, fields.upgradeIndex, "websocket");
}

function fieldIs(fields: FieldTable, index: number, text: string): boolean {
  return index >= 0 && equalsText(fields.bytes, fields.valueStart(index), fields.valueEnd(index), text);
}
