/** Who may reach a service, in words. */
import type { ApiObject, Json, JsonObject } from "../api.ts";

const providers: Readonly<Record<string, string>> = {
  google: "Google",
  github: "GitHub",
  microsoft: "Microsoft",
  gitlab: "GitLab",
  linkedin: "LinkedIn",
  facebook: "Facebook",
  twitch: "Twitch",
  amazon: "Amazon",
};

/** Returns a module's configuration if it is applied. */
function applied(object: JsonObject, name: string): JsonObject | undefined {
  const config = object[name] as JsonObject | null | undefined;
  return config && config["enabled"] !== false ? config : undefined;
}

/**
 * Describes the access rules of a route, an edge or an endpoint: `at acme.com, signed in with Google`.
 * @param object has the modules as fields
 */
export function accessOf(object: JsonObject): string {
  const conditions = [
    applied(object, "ip_restriction") && "from allowed addresses",
    signIn(object),
    applied(object, "mutual_tls") && "with a client certificate",
    hasPolicy(object) && "by a traffic policy",
  ].filter((one) => typeof one === "string");
  return conditions.length === 0 ? "everyone" : conditions.join(", ");
}

function signIn(object: JsonObject): string | undefined {
  const oauth = applied(object, "oauth");
  if (oauth) {
    const [name = "", config] = Object.entries((oauth["provider"] ?? {}) as JsonObject).find(([, one]) => one) ?? [];
    const domains = ((config as JsonObject | undefined)?.["email_domains"] ?? []) as readonly string[];
    const who = domains.length > 0 ? `people at ${domains.join(", ")} ` : "";
    return `${who}signed in with ${providers[name] ?? name}`;
  }
  const oidc = applied(object, "oidc");
  const issuer = oidc?.["issuer"];
  if (oidc) return `signed in with ${(typeof issuer === "string" && URL.parse(issuer)?.host) || "OpenID Connect"}`;
  return applied(object, "saml") ? "signed in with SAML" : undefined;
}

function hasPolicy(object: JsonObject): boolean {
  const policy = object["traffic_policy"] as Json | undefined;
  if (typeof policy === "string") return policy !== "";
  return applied(object, "traffic_policy") !== undefined;
}

/** Describes all routes of an HTTPS edge. */
export function accessOfRoutes(routes: readonly JsonObject[]): string {
  const all = [...new Set(routes.map(accessOf))];
  if (all.length === 0) return "no one: the service has no route";
  return all.length === 1 ? String(all[0]) : `${all.length} different rules`;
}

/** Returns the ids of the IP policies of a route, an edge or an endpoint. */
export function policiesOf(object: ApiObject): readonly string[] {
  const policies = (object["ip_restriction"] as JsonObject | null | undefined)?.["ip_policies"];
  return Array.isArray(policies) ? (policies as readonly { readonly id: string }[]).map(({ id }) => id) : [];
}
