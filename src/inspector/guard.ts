/** Who may use the local API: programs of this machine, and no page of another site that a browser here shows. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { LocalRefusal } from "./local-refusal.ts";

const everywhere: ReadonlySet<string> = new Set(["", "0.0.0.0", "::"]);
const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Throws `LocalRefusal`.
 *
 * @param host that is listened on; "" for every address
 * @param isAllowed whether a further name may be used
 */
export function admit(request: IncomingMessage, host: string, isAllowed: (name: string) => boolean): void {
  const { headers, method = "" } = request;
  const named = URL.parse(`http://${headers.host ?? ""}/`)?.hostname ?? "";
  if (!isOwnName(named, host) && !isAllowed(named)) {
    // A name that resolves to here may be anybody's: pages of theirs would be of the same origin (DNS rebinding).
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
  // Browsers send no DELETE to another site without asking, and are not given leave.
  if (method === "DELETE" && !hasBody) return;
  if (!/^application\/json\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new LocalRefusal("local_type_unsupported", "the Content-Type must be application/json");
  }
}

function isOwnName(named: string, host: string): boolean {
  if (loopbackNames.has(named)) return true;
  const bare = named.replace(/^\[|\]$/g, "");
  // An address cannot be made to lead elsewhere, as a name can.
  return everywhere.has(host) ? isIP(bare) !== 0 : bare === host;
}
