import type { HeaderFields } from "../header-fields.ts";

/**
 * Fields that can be there only once and that something here goes by: whoever reads one of several lines reads another
 * than the upstream may, or the client. What of them is repeated is no value at all. Lists, such as Accept-Encoding or
 * Cookie, are read over all of their lines instead (RFC 9110 §5.3); Host, Content-Length, Expect and Upgrade are dealt
 * with where the message is read, and the fields of webhooks by `single` of their schemes.
 */
type OnlyField = "content-type" | "etag" | "sec-websocket-version" | "user-agent";

/** There are several lines. */
export const repeated = Symbol("repeated");

/** Returns the field's value, or undefined without one. */
export function readOnlyValue(
  headers: Pick<HeaderFields, "getAll">,
  name: OnlyField,
): string | undefined | typeof repeated {
  const values = headers.getAll(name);
  return values.length > 1 ? repeated : values[0];
}
