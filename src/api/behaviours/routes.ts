/** Routes of HTTPS edges: checks that the route's host is a host of its edge, and checks the URLs of its logins. */
import { hostMatches } from "../../lib/hostport.ts";
import { readRouteMatch } from "../../lib/route-match.ts";
import { Refusal } from "../../lib/errors.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { policyModuleName } from "../../policy/compile-policy.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import { loginUrlCheck, policyLoginCheck, textIn } from "./login-urls.ts";
import type { LoginUrlRules } from "./login-urls.ts";
import type { Preparation } from "../objects/behaviour.ts";

/** Maximum number of hostports in a message. */
const maxShown = 5;

export function routeBehaviour(rules: LoginUrlRules) {
  const checkLoginUrls = loginUrlCheck(rules);
  const checkPolicyLogins = policyLoginCheck(rules, `${policyModuleName}.value`, (doc) =>
    textIn(doc, policyModuleName, "value"),
  );
  return behaviourOf(httpsEdgeRoute, {
    prepare(input) {
      const { doc, previous } = input;
      if (doc.match !== previous?.doc.match) checkHost(input);
      checkLoginUrls(input);
      checkPolicyLogins(input);
      return { doc };
    },
  });
}

/**
 * Rejects a host that no hostport of the edge covers, because no request would ever match. Removing the hostport from
 * the edge later is allowed, so that names can move. The route then becomes a problem of the edge.
 */
function checkHost({ draft, accountId, doc }: Preparation<DocOf<typeof httpsEdgeRoute>>): void {
  const match = readRouteMatch(doc.match);
  if (typeof match === "string" || match.host === "") return;
  const edge = draft.get(accountId, httpsEdge.name, doc.edge_id ?? "");
  const hostports = edge ? docOf(edge, httpsEdge).hostports : [];
  const hosts = hostports.map((hostport) => hostport.slice(0, hostport.lastIndexOf(":")));
  if (hosts.some((pattern) => hostMatches(pattern, match.host))) return;
  const shown = hosts.slice(0, maxShown).map((host) => `"${host}"`);
  const has =
    shown.length === 0 ? "it has none" : `they are for ${shown.join(", ")}${hosts.length > maxShown ? ", …" : ""}`;
  const why = `must start with "/" or with a host that a hostport of the edge covers, but no hostport covers "${match.host}": ${has}`;
  throw new Refusal("match_invalid", `the route would never match: "match" ${why}`, { match: why });
}
