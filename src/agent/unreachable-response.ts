import { catalogue } from "../lib/errors.ts";

/**
 * Returns the HTTP response to a visitor whose service cannot be reached. The edge recognises its field.
 * @param body text in ASCII
 */
export function unreachableResponse(body: string): string {
  return [
    "HTTP/1.1 502 Bad Gateway",
    `postern-agent-error: ${catalogue.agent_dial_failed.number}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${body.length}`,
    "connection: close",
    "",
    body,
  ].join("\r\n");
}
