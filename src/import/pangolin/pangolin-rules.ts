/** Converts rules and logins of a Pangolin resource to a traffic policy. */
import { isIP } from "node:net";
import type { JsonObject } from "../../lib/json.ts";
import { entriesAt, isTrue, itemsAt, nodeAt, textAt } from "../formats/source-tree.ts";
import type { SourceNode } from "../formats/source-tree.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { escapeTemplate } from "../report/template-literal.ts";

const denyAction = (status: number): JsonObject => ({ type: "deny", config: { status_code: status } });

/** `allow` admits a request without a login, `pass` leaves the decision to the login, and `deny` rejects it. */
export function policyRules(resource: SourceNode, ledger: Ledger): JsonObject[] {
  const rules = itemsAt(resource, "rules").flatMap((rule): JsonObject[] => {
    const action = textAt(rule, "action") ?? "";
    const condition = conditionOf(textAt(rule, "match") ?? "", textAt(rule, "value") ?? "");
    if (condition === undefined || !["allow", "deny", "pass"].includes(action)) {
      ledger.say(rule, "left out", "this rule has no equivalent. Write a rule with an expression by hand", true);
      return [];
    }
    const decides = action === "deny" ? denyAction(403) : { type: "set-vars", config: { vars: [{ decided: action }] } };
    return [{ expressions: [`vars.decided == ""`, condition], actions: [decides] }];
  });
  const login = loginRule(resource, ledger);
  const clear = { actions: [{ type: "set-vars", config: { vars: [{ decided: "" }] } }] };
  const guarded = login && { ...(rules.length > 0 && { expressions: [`vars.decided != "allow"`] }), actions: [login] };
  return [...(rules.length > 0 ? [clear, ...rules] : []), ...(guarded ? [guarded] : [])];
}

/**
 * Returns basic authentication, or denies all requests if the login has no equivalent: the resource must not become
 * public.
 */
function loginRule(resource: SourceNode, ledger: Ledger): JsonObject | undefined {
  const basic = nodeAt(resource, "auth.basic-auth");
  const kinds = entriesAt(resource, "auth").filter(({ key, node }) => {
    if (key === "basic-auth" || key === "auto-login-idp") return false;
    return node.value.kind === "text" ? !["", "false"].includes(node.value.text) : true;
  });
  if (!isTrue(resource, "auth.sso-enabled")) {
    for (const key of ["sso-enabled", "sso-roles", "sso-users", "auto-login-idp"]) {
      ledger.say(nodeAt(resource, `auth.${key}`), "mapped", "single sign-on is off");
    }
  }
  const own = kinds.filter(({ key }) => !/^sso-(?:roles|users)$/.test(key) || isTrue(resource, "auth.sso-enabled"));
  if (own.length > 0) return denyAction(403);
  if (!basic) return undefined;
  const user = textAt(basic, "user") ?? "";
  const password = textAt(basic, "password") ?? "";
  if (user !== "" && password.length >= 8 && Buffer.byteLength(password) <= 128) {
    return { type: "basic-auth", config: { credentials: [escapeTemplate(`${user}:${password}`)] } };
  }
  ledger.say(
    basic,
    "left out",
    "basic-auth needs a user and a password of 8 to 128 bytes, so requests get 403. Choose a longer password",
    true,
  );
  return denyAction(403);
}

function conditionOf(match: string, value: string): string | undefined {
  switch (match) {
    case "ip":
      return isIP(value) === 0
        ? undefined
        : `inCidrRange(conn.client_ip, ${JSON.stringify(`${value}/${isIP(value) === 6 ? 128 : 32}`)})`;
    case "cidr":
      return /^[0-9a-f.:]+\/\d+$/i.test(value) ? `inCidrRange(conn.client_ip, ${JSON.stringify(value)})` : undefined;
    case "path":
      return `req.url.path.matches(${JSON.stringify(pathPattern(value))})`;
    case "country":
      return value.toUpperCase() === "ALL"
        ? "true"
        : `conn.client_ip.geo.location.country_code == ${JSON.stringify(value.toUpperCase())}`;
    case "asn": {
      const number = /^(?:AS)?(\d{1,10})$/i.exec(value)?.[1];
      return number === undefined ? undefined : `conn.client_ip.as.number == ${number}`;
    }
    default:
      return undefined;
  }
}

/** A star that is a whole segment matches any number of segments. Within a segment, it matches any characters. */
function pathPattern(pattern: string): string {
  const segments = pattern.split("/").filter(Boolean);
  const parts = segments.map((segment) =>
    segment === "*"
      ? "(?:/[^/]+)*"
      : `/${segment
          .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
          .replaceAll("*", "[^/]*")
          .replaceAll("?", "[^/]")}`,
  );
  return `^${parts.join("")}/?$`;
}
