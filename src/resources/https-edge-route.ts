import { canonicalMatch, matchIssue } from "../lib/route-match.ts";
import { f, notes } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { routeMatch } from "../schema/formats.ts";
import { policyRefusals } from "../policy/policy-document.ts";
import { defineResource } from "../schema/resource.ts";
import { captureField } from "./capture.ts";

export const httpsEdgeRoute = defineResource({
  name: "https_edge_route",
  schemaName: "HTTPSEdgeRoute",
  path: "/edges/https/{edge_id}/routes",
  listKey: "routes",
  idPrefix: "edghtsrt",
  doc: "Access rules and destination for the matching requests of an HTTPS edge. The most specific host wins, then exact paths, then the longest prefix.",
  fields: {
    edge_id: f.ref(
      "Identifier of the owning edge.",
      { to: "https_edge", input: "edge_id" },
      { bare: true, required: true, immutable: true },
    ),
    match_type: f.oneOf(
      "How `match` is compared: with the whole path, or with the start of the path in whole segments.",
      ["exact_path", "path_prefix"],
      { required: true, keepIfEmpty: true },
    ),
    match: f.string(
      "The path (`/api`), the host (`app.example.com`, `*.example.com`), or the host and path to match. The edge's hostports must include the host; a host alone means all its paths. Routes with the exact host come first, then the longest wildcard, then routes without a host. The API returns the value as sent; equivalent spellings, such as `/%61pi`, are the same match.",
      { required: true, maxBytes: 1024, format: routeMatch, keepIfEmpty: true },
    ),
    ...notes,
    capture: captureField,
  },
  modulesOn: "https_route",
  operations: ["create", "get", "update", "delete"],
  ownedBy: { kind: "https_edge", field: "edge_id" },
  traffic: true,
  claims: ({ edge_id, match_type, match }) => [
    { space: `route of ${edge_id}`, name: `${match_type} ${canonicalMatch(match)}`, at: "match" },
  ],
  taken: "route_exists",
  refusals: ["match_invalid", "login_exclusive", ...policyRefusals],
  rules: [checkCanonical, requireOneLogin],
});

/** Also applies to restored objects, which were stored under weaker rules. */
function checkCanonical({ match }: { readonly match: string }): Issue | undefined {
  const issue = matchIssue(match);
  return issue === undefined ? undefined : { path: "match", message: `must ${issue}`, reason: "match_invalid" };
}

const logins = ["oauth", "saml", "oidc"];

function requireOneLogin(doc: Readonly<Record<string, unknown>>): Issue | undefined {
  const [, second] = logins.filter((name) => doc[name]);
  if (second === undefined) return undefined;
  return {
    path: second,
    message: `must not be set together with another of ${logins.join(", ")}`,
    reason: "login_exclusive",
  };
}
