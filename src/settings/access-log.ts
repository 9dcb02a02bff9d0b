/** The access log: one line for each finished request. Read by the edge; the server's main thread writes the file. */
import { accessFormats, otherAccessFields, usualAccessFields } from "../lib/access-fields.ts";
import { accessField, accessLogPlace, loggedHeader } from "./kinds/access-log.ts";
import { oneOf } from "./kinds/text.ts";
import { many, one, optional } from "./setting.ts";
import type { ValuesOf } from "./setting.ts";

export const accessLogSettings = {
  accessLog: optional(
    "File for the access log, one line for each finished request, or - for standard output (default: no access log). The server reopens the file on SIGHUP.",
    accessLogPlace,
  ),
  accessLogFormat: one(
    "Format of access log lines. Combined is the format of Apache and nginx, with fixed fields.",
    oneOf(accessFormats),
    { default: "json" },
  ),
  accessLogFields: many(
    `Field of access log lines in the formats json and logfmt, in this order; repeatable (default: ${usualAccessFields.join(", ")}). Others: ${otherAccessFields.join(", ")}. Only the field query contains the query, which may contain secrets.`,
    accessField,
    { needs: "accessLog" },
  ),
  accessLogHeaders: many(
    "Request header field to add to access log lines in the formats json and logfmt; repeatable. Fields that carry credentials are rejected.",
    loggedHeader,
    { needs: "accessLog" },
  ),
} as const;

export type AccessLogSettings = ValuesOf<typeof accessLogSettings>;
