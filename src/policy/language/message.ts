import type { HeaderFields } from "../../traffic/header-fields.ts";
import type { PolicyContext } from "./policy-context.ts";

/** Returns the fields that the phase may change: the request's, or from the response phase on the response's. */
export function headersOf({ exchange, response, phase }: PolicyContext): HeaderFields | undefined {
  return phase === "on_http_request" ? exchange?.request.headers : response?.headers;
}
