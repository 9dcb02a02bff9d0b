/**
 * Access control of the local API: programs on this machine may use it, pages of other sites in a local browser may
 * not.
 */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { LocalRefusal } from "./local-refusal.ts";

const everywhere: ReadonlySet<string> = new Set(["", "0.0.0.0", "::"]);
const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Throws `LocalRefusal` if the request is not allowed.
 *
 * @param host listening address; "" for every address
 * @param isAllowed whether an additional name may be used
 */
export function admitRequest(request: IncomingMessage, host: string, isAllowed: (name: string) => boolean): void {
  const { headers, method = "" } = request;
  const named = URL.parse(`http://${headers.host ?? ""}/`)?.hostname ?? "";
  if (!isOwnName(named, host) && !isAllowed(named)) {
    // Anyone can own a name that resolves to this machine. Pages at that name would share its origin (DNS rebinding).
    throw new LocalRefusal(
      "local_caller_denied",
      "the Host must be localhost, or the address that the inspector listens on",
    );
  }
  const { origin } = headers;
  if (origin !== undefined && URL.parse(origin)?.host !== headers.host) {
    throw new LocalRefusal("local_caller_denied", "pages of other sites cannot use the inspector");
  }
  if (method === "GET" || method === "HEAD") return;
  const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  // Browsers send DELETE to another site only after a preflight, which this API refuses.
  if (method === "DELETE" && !hasBody) return;
  if (!/^application\/json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new LocalRefusal("local_type_unsupported", "the Content-Type must be application/json");
  }
}

function isOwnName(named: string, host: string): boolean {
  if (loopbackNames.has(named)) return true;
  const bare = named.replace(/^\[|\]$/g, "");
  // Unlike a name, an address cannot be redirected elsewhere.
  return everywhere.has(host) ? isIP(bare) !== 0 : bare === host;
}
