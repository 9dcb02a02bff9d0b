import { listOf, types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { canonicalPath } from "../../lib/canonical-path.ts";
import { encodeCanonicalPath } from "../../lib/encoded-path.ts";
import { breakAction, breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import type { RequestHead } from "../../traffic/exchange.ts";
import { ReplaceFault } from "../parts/replacing.ts";
import { compileUrlChange, urlChangeFields } from "../parts/url-change.ts";

export const urlRewrite = defineAction({
  type: "url-rewrite",
  phases: ["on_http_request"],
  readsPath: true,
  doc: "Changes the upstream URL: `to` replaces the matches of `from`. A new host becomes the Host header; scheme and port stay unchanged.",
  config: { ...urlChangeFields, from: { ...urlChangeFields.from, required: true } },
  results: { name: "url_rewrite", fields: { matches: listOf(types.string), url: types.string } },
  compile({ from, to }, scope) {
    const change = compileUrlChange(from, to, scope);
    return {
      run(context) {
        const request = context.exchange?.request;
        const changed = change(context);
        if (changed instanceof ReplaceFault) return breakWith(changed, "policy_action_failed");
        if (changed instanceof CelFailure) return breakWith(changed);
        if (!changed || !request) return skipAction("the URL does not change", { matches: [], url: "" });
        const { url, matches } = changed;
        const wrong = rewriteRequest(request, url);
        return wrong === undefined
          ? makeDone("rewrote the URL", { matches, url })
          : breakAction("policy_action_failed", wrong);
      },
    };
  },
});

/** Applies the URL to the request. Returns the reason if the URL cannot be forwarded; undefined on success. */
function rewriteRequest(request: RequestHead, url: string): string | undefined {
  const parsed = URL.parse(url);
  if (!parsed) return "the result is not a URL";
  // Same rule as for URLs from clients: all parties must read a path in the same way (security R1).
  const isEncoded = canonicalPath(request.path) === undefined;
  const path = isEncoded ? encodeCanonicalPath(parsed.pathname) : canonicalPath(parsed.pathname);
  if (path === undefined) return "the result has a path that servers read differently";
  request.path = path;
  request.query = parsed.search;
  request.rewritten = parsed.pathname + parsed.search;
  const before = request.headers.get("host") ?? request.host;
  if (parsed.hostname !== before.replace(/:\d*$/, "").toLowerCase()) request.headers.set("host", parsed.host);
  return undefined;
}
