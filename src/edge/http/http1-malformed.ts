import type { RefusalName } from "../../lib/errors.ts";
import { newRequestId } from "../../lib/traffic-ids.ts";
import { renderAnswer } from "./answer.ts";
import type { ClientConnection } from "./visitor-connection.ts";
import type { Http1Output } from "./http1-output.ts";

/**
 * Responds to input that cannot become an exchange, counts it and logs the reason. The caller must close the
 * connection, because the start of the next request is unknown (W1).
 */
export function answerMalformed(
  output: Http1Output,
  { context, facts }: ClientConnection,
  reason: RefusalName,
  why: string,
): void {
  const id = newRequestId(context.clock.now());
  context.counters.malformed += 1;
  context.log.info("request refused", { reason: why, source: facts.source, request: id.text });
  const answered = { id: id.text, method: "GET", accept: undefined };
  const { status, fields, body } = renderAnswer({ error: reason }, answered, context.clock.now());
  output.head(status, undefined, fields, id, "Connection: close\r\n", false);
  output.body(body);
  output.end(undefined);
}
