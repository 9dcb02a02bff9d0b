import { withSlashesDecoded } from "../../lib/encoded-path.ts";
import { refuseByRouter } from "../../routing/sites/router-refusals.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled-site.ts";
import type { Step } from "../../traffic/step.ts";
import type { HttpContext } from "./http-context.ts";
import type { ReceivedRequest } from "./received-request.ts";

/**
 * Returns why a request is refused whose path has encoded slashes or bytes that are not UTF-8. Returns undefined if it
 * is accepted (R1).
 *
 * Such a path bypasses nothing if the host has one route for all paths and no rule reads the path. Otherwise the
 * operator or the route's owner must allow it, and decoding the slashes must lead to the same route.
 */
export function encodingRefused(
  request: ReceivedRequest,
  host: string,
  site: Site,
  route: CompiledRoute | undefined,
  { allowEncodedSlashes = false }: Pick<HttpContext, "allowEncodedSlashes">,
): Step | undefined {
  const tellsApart = site.tellsPathsApart?.(host) ?? true;
  if (!tellsApart && (route === undefined || !readsPath(route))) return undefined;
  const { path } = request;
  const hasSlash = path.includes("%2F");
  const what = hasSlash ? "an encoded slash (%2F)" : "bytes that are not UTF-8";
  const reason = hasSlash ? "encoded_slash_refused" : "path_not_utf8";
  if (!allowEncodedSlashes && route?.allowsEncodedSlashes !== true) {
    const why = tellsApart ? "the host's routes distinguish paths" : "a rule reads the path";
    return refuseByRouter(reason, `the path "${path}" has ${what}, and ${why}`);
  }
  const decoded = withSlashesDecoded(path);
  if (decoded !== undefined && site.findRoute(decoded, host) === route) return undefined;
  return refuseByRouter(
    reason,
    `the path "${path}" has ${what}: a server that decodes it first may use the path of another route`,
  );
}

function readsPath({ request, response }: CompiledRoute): boolean {
  return [...request, ...response].some((module) => module.readsPath === true);
}
