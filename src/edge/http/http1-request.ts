import { originForm } from "../../http1/authority.ts";
import { expectsOnlyContinue } from "../../http1/expectation.ts";
import type { HostReader } from "../../http1/host-reader.ts";
import type { RequestRead } from "../../http1/read-request.ts";
import { upgradeOffer } from "../../http1/upgrade-request.ts";
import { ReceivedRequest } from "./received-request.ts";

/** Returns the request of an HTTP/1 head. If its Host or target is invalid, returns the error as a clause for logs. */
export function receiveHttp1(head: RequestRead, scheme: "https" | "http", hosts: HostReader): ReceivedRequest | string {
  const { fields, method } = head;
  const authority = hosts.read(fields);
  if (authority === undefined) return "invalid Host";
  const target = originForm(head.target, authority);
  if (target === undefined && method !== "CONNECT") return "invalid request target";
  const isOld = head.minorVersion === 0;
  const bodyLength = fields.chunked ? -1 : Math.max(0, fields.contentLength);
  const upgrade = isOld ? "" : readOffer(head, bodyLength);
  return new ReceivedRequest({
    httpVersion: isOld ? "1.0" : "1.1",
    method,
    scheme,
    target: target ?? "/",
    host: authority.host,
    port: authority.port,
    hostField: authority.text,
    headers: fields,
    bodyLength,
    websocket: upgrade === "websocket",
    upgrade,
    expectsContinue: !isOld && fields.expectIndex >= 0 && expectsOnlyContinue(fields),
  });
}

/** Ignores an offer that the edge does not forward, such as h2c, and serves the request without it (W5). */
function readOffer({ fields, method }: RequestRead, bodyLength: number): string {
  if (!fields.connectionUpgrade || fields.upgradeIndex < 0) return "";
  return upgradeOffer(fields.valueAt(fields.upgradeIndex), method === "GET" && bodyLength === 0);
}
