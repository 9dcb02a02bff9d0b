import { HostReader } from "../../http1/host-reader.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { RequestDescription } from "../../routing/planes/edge-questions.ts";
import type { HttpLimits } from "./http-context.ts";
import { receiveHttp1 } from "./http1-request.ts";
import type { ReceivedRequest } from "./received-request.ts";

type RequestParts = Pick<RequestDescription, "method" | "target" | "host" | "headers" | "body" | "scheme">;

/** Returns the request as if received over HTTP/1.1, or why it is not readable. */
export function receiveDescribed(described: RequestParts, limits: HttpLimits): ReceivedRequest | string {
  const { method, target, host, headers, body, scheme = "https" } = described;
  const has = (name: string): boolean => headers.some(([one]) => one.toLowerCase() === name);
  const fields = [
    ...(has("host") ? [] : [["host", host] as const]),
    ...headers,
    ...(body === "" || has("content-length") || has("transfer-encoding")
      ? []
      : [["content-length", String(Buffer.byteLength(body))] as const]),
  ];
  // A line break would end the line instead of being part of the described request.
  if ([method, target, ...fields.flat()].some((text) => /[\r\n]/.test(text))) return "a line break in the head";
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = readRequestHead(Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, "latin1"), 0, limits);
  if (head === undefined) return "an incomplete head";
  return "outcome" in head ? head.reason : receiveHttp1(head, scheme, new HostReader());
}
