import { f, notes } from "../schema/fields.ts";
import type { Issue } from "../schema/fields.ts";
import { path } from "../schema/formats.ts";
import { policyRefusals } from "../policy/document.ts";
import { defineResource } from "../schema/resource.ts";

export const httpsEdgeRoute = defineResource({
  name: "https_edge_route",
  schemaName: "HTTPSEdgeRoute",
  path: "/edges/https/{edge_id}/routes",
  listKey: "routes",
  idPrefix: "edghtsrt",
  doc: "What happens to requests of an HTTPS edge whose path matches. Exact matches come before prefixes, then the longest prefix wins.",
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
    match: f.string("The path to match.", { required: true, maxBytes: 1024, format: path, keepIfEmpty: true }),
    ...notes,
  },
  modulesOn: "https_route",
  operations: ["create", "get", "update", "delete"],
  ownedBy: { kind: "https_edge", field: "edge_id" },
  traffic: true,
  claims: ({ edge_id, match_type, match }) => [{ space: `route of ${edge_id}`, name: `${match_type} ${match}` }],
  taken: "route_exists",
  refusals: ["login_exclusive", ...policyRefusals],
  rules: [oneLogin],
});

const logins = ["oauth", "saml", "oidc"];

function oneLogin(doc: Readonly<Record<string, unknown>>): Issue | undefined {
  const [, second] = logins.filter((name) => doc[name]);
  if (second === undefined) return undefined;
  return { path: second, message: `must not be set beside another of ${logins.join(", ")}`, reason: "login_exclusive" };
}
