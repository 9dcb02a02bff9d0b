import { emptyFields } from "../../http1/field-table.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { errorPage } from "../http/error-page.ts";
import type { Http2Output } from "./output.ts";

/**
 * Answers a request that never became an exchange with the error page of `reason`. Omits the page if there is no `room`
 * for it. Returns the number of DATA bytes sent.
 */
export function answerRefusal(
  output: Http2Output,
  streamId: number,
  reason: RefusalName,
  requestId: TrafficId,
  room: number,
): number {
  const page = errorPage(reason, requestId.text, undefined);
  const fields = emptyFields();
  for (const name in page.headers) fields.append(name, page.headers[name] as string);
  const body = Buffer.from(page.body as string);
  const fits = body.length <= room;
  if (fits) fields.append("content-length", String(body.length));
  output.head(streamId, page.status, fields, requestId, !fits);
  if (!fits) return 0;
  output.data(streamId, body, true);
  return body.length;
}
