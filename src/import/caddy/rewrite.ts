/** Converts the handler `rewrite` to `url-rewrite`. */
import { entriesAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { RouteScope, ImportedSite } from "./imported-site.ts";

const origin = "^(https?://[^/?]*)";

interface Rewrite {
  readonly from: string;
  readonly to: string;
  moves(path: string): string;
}

export function readRewrite(site: ImportedSite, handler: SourceNode, scope: RouteScope): void {
  const { ledger, steps } = site;
  ledger.say(handler, "mapped", "url-rewrite");
  for (const { key, node } of entriesAt(handler, "")) {
    if (key === "handler") continue;
    const made = rewriteOf(key, textAt(handler, key) ?? "");
    if (!made) {
      ledger.say(node, "left out", "this change of the URL has no equivalent. Write a rule with url-rewrite by hand");
      continue;
    }
    scope.isMoved = true;
    const { from, to, moves } = made;
    steps.push({ kind: "act", route: scope.route, actions: [{ type: "url-rewrite", config: { from, to } }], moves });
  }
  ledger.say(nodeAt(handler, "handler"), "mapped", "url-rewrite");
}

function rewriteOf(key: string, text: string): Rewrite | undefined {
  if (text.includes("$")) return undefined;
  switch (key) {
    case "strip_path_prefix": {
      const prefix = text.startsWith("/") ? text : `/${text}`;
      if (text.includes("{")) return undefined;
      return {
        from: `${origin}${escapePattern(prefix)}/?`,
        to: "$1/",
        moves: (path) => (path.startsWith(prefix) ? path.slice(prefix.length).replace(/^(?!\/)/, "/") : path),
      };
    }
    case "strip_path_suffix":
      if (text.includes("{")) return undefined;
      return {
        from: `${origin}([^?]*)${escapePattern(text)}(\\?.*)?$`,
        to: "$1$2$3",
        moves: (path) => (path.endsWith(text) ? path.slice(0, -text.length) : path),
      };
    case "uri":
      return uriOf(text);
    default:
      return undefined;
  }
}

/** `{http.request.uri}` is path and query. A query in the text replaces the query. */
function uriOf(text: string): Rewrite | undefined {
  const [path = "", query] = text.split("?", 2);
  const known = /^(?:[^{}]|\{http\.request\.uri(?:\.path)?\})*$/;
  if (!text.startsWith("/") && !text.startsWith("{")) return undefined;
  if (!known.test(path) || (query !== undefined && /[{}]/.test(query.replaceAll("{http.request.uri.query}", ""))))
    return undefined;
  if (query?.includes("{http.request.uri.query}") && query !== "{http.request.uri.query}") return undefined;
  const made = path.replaceAll(/\{http\.request\.uri(?:\.path)?\}/g, "$2");
  const kept = query === undefined || query === "{http.request.uri.query}" ? "$3" : `?${query}`;
  return {
    from: `${origin}([^?]*)(\\?.*)?$`,
    to: `$1${made}${kept}`,
    moves: (given) => path.replaceAll(/\{http\.request\.uri(?:\.path)?\}/g, () => given),
  };
}

function escapePattern(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
