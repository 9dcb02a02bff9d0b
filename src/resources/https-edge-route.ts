import { canonicalMatch, matchIssue } from "../lib/route-match.ts";
import { f, notes } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { routeMatch } from "../schema/formats.ts";
import { policyRefusals } from "../policy/document.ts";
import { defineResource } from "../schema/resource.ts";

export const httpsEdgeRoute = defineResource({
  name: "https_edge_route",
  schemaName: "HTTPSEdgeRoute",
  path: "/edges/https/{edge_id}/routes",
  listKey: "routes",
  idPrefix: "edghtsrt",
  doc: "What happens to requests of an HTTPS edge that it matches. The nearest host comes first, then exact matches of the path, then the longest prefix.",
  fields: {
    edge_id: f.ref(
      "Identifier of the owning edge.",
      { to: "https_edge", input: "edge_id" },
      { bare: true, required: true, immutable: true },
    ),
    match_type: f.oneOf(
      "How `match` is compared: with the whole path, or with its beginning on segment boundaries.",
      ["exact_path", "path_prefix"],
      { required: true, keepIfEmpty: true },
    ),
    match: f.string(
      "What to match: a path (`/api`), a host (`app.example.com`, `*.example.com`), or a host and a path. The host is one that a hostport of the edge covers; alone, it stands for all its paths. Routes with the request's host come first, then those with the longest wildcard over it, then those without a host. Answered as it was sent; other spellings of it, such as `/%61pi`, are the same match.",
      { required: true, maxBytes: 1024, format: routeMatch, keepIfEmpty: true },
    ),
    ...notes,
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
  rules: [canonical, oneLogin],
});

/** Also for what comes back from the past, which was stored when less was asked for. */
function canonical({ match }: { readonly match: string }): Issue | undefined {
  const issue = matchIssue(match);
  return issue === undefined ? undefined : { path: "match", message: `must ${issue}`, reason: "match_invalid" };
}

const logins = ["oauth", "saml", "oidc"];

function oneLogin(doc: Readonly<Record<string, unknown>>): Issue | undefined {
  const [, second] = logins.filter((name) => doc[name]);
  if (second === undefined) return undefined;
  return { path: second, message: `must not be set beside another of ${logins.join(", ")}`, reason: "login_exclusive" };
}
