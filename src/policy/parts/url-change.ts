/** Shared by `redirect` and `url-rewrite`: `from` and `to`, over the request's whole URL. */
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { patternOf } from "../../cel/values/regex.ts";
import type { Pattern } from "../../cel/values/regex.ts";
import { withoutDotSegments } from "../../lib/spelled-path.ts";
import { f } from "../../schema/fields.ts";
import type { ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import { compileReplacement } from "./replacement.ts";
import type { Replacement } from "./replacement.ts";
import { replaceUrl, urlOf } from "./url-replace.ts";
import type { ReplacedUrl, UrlParts } from "./url-replace.ts";
import type { Template } from "../language/template.ts";
import { authorityOf } from "../../traffic/variables/message-variables.ts";
import { uriOf } from "../variables/policy-message-variables.ts";

export const urlChangeFields = {
  from: f.string(
    "Regular expression (RE2) over `scheme://host/path?query`; empty: the whole URL. Can contain `${…}`.",
    {
      maxBytes: 1024,
    },
  ),
  to: f.string("Replacement for each match, with groups as `$1`; can contain `${…}`.", {
    required: true,
    maxBytes: 2048,
  }),
  format: f.string("Ignored; an older field.", { maxBytes: 64 }),
};

type ChangedUrl = ReplacedUrl | CelFailure | undefined;

export function compileUrlChange(from: string, to: string, scope: ActionScope): (context: PolicyContext) => ChangedUrl {
  const source = scope.template(from, "from");
  const target = scope.template(to, "to");
  const pattern = compileFixedPattern(source, scope);
  const replacement = target.constant === undefined ? undefined : compileReplacement(target.constant);
  return (context) => {
    const found = pattern === "dynamic" ? compileDynamicPattern(source, context) : pattern;
    if (found instanceof CelFailure) return found;
    const pieces = replacement ? undefined : target.pieces(context);
    if (pieces instanceof CelFailure) return pieces;
    const parts = partsOf(context);
    if (!parts) return undefined;
    const into = replacement ?? compileReplacement(pieces ?? []);
    return replaceUrl(parts, found, into, context) ?? replaceCanonical(parts, context, found, into);
  };
}

/** If a path is spelled differently from the expression, the expression must still match it (R1). */
function replaceCanonical(
  parts: UrlParts,
  context: PolicyContext,
  found: Pattern | undefined,
  to: Replacement,
): ChangedUrl {
  const path = context.exchange?.request.path ?? parts.path;
  if (found === undefined || path === parts.path) return undefined;
  const replaced = replaceUrl({ ...parts, path }, found, to, context);
  return replaced !== undefined && "url" in replaced && replaced.url === urlOf(parts) ? undefined : replaced;
}

function compileFixedPattern({ constant }: Template, scope: ActionScope): Pattern | undefined | "dynamic" {
  if (constant === undefined) return "dynamic";
  if (constant === "") return undefined;
  return scope.pattern(constant, "from");
}

function compileDynamicPattern(source: Template, context: PolicyContext): Pattern | CelFailure {
  const text = source.text(context);
  if (text instanceof CelFailure) return text;
  return patternOf(text, context);
}

function partsOf({ exchange, connection }: PolicyContext): UrlParts | undefined {
  if (!exchange) return undefined;
  const { request } = exchange;
  const uri = uriOf(request);
  const question = uri.indexOf("?");
  const authority = authorityOf(request);
  const named = /:(\d{1,5})$/.exec(authority)?.[1];
  return {
    scheme: request.scheme,
    authority,
    host: authority.replace(/:\d*$/, ""),
    port: named === undefined ? connection.localPort : Number(named),
    path: withoutDotSegments(question < 0 ? uri : uri.slice(0, question)),
    query: question < 0 ? "" : uri.slice(question),
  };
}
