/** Who may reach a service, in words. */
import type { ApiObject, JsonObject } from "../api.ts";
import { actionsOf, domainsIn, hasOwnPassword, rulesIn } from "./policy-access.ts";

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
function appliedModule(object: JsonObject, name: string): JsonObject | undefined {
  const config = object[name] as JsonObject | null | undefined;
  return config && config["enabled"] !== false ? config : undefined;
}

/**
 * Describes the access rules of a route, an edge or an endpoint: `at acme.com, signed in with Google`.
 * @param object has the modules as fields
 */
export function accessOf(object: JsonObject): string {
  const ofPolicy = actionsOf(policyRules(object)).map((one) => one["type"]);
  const conditions = [
    (appliedModule(object, "ip_restriction") ?? ofPolicy.includes("restrict-ips")) && "from allowed addresses",
    appliedModule(object, "country_restriction") && "from allowed countries",
    appliedModule(object, "user_agent_filter") && "with allowed clients",
    appliedModule(object, "webhook_verification") && "with a signed webhook",
    signIn(object),
    appliedModule(object, "mutual_tls") && "with a client certificate",
    hasOtherPolicy(object) && "by a traffic policy",
  ].filter((one) => typeof one === "string");
  return conditions.length === 0 ? "everyone" : conditions.join(", ");
}

/** Describes the login; undefined without one. */
export function signIn(object: JsonObject): string | undefined {
  const oauth = appliedModule(object, "oauth");
  if (oauth) {
    const [name = "", config] = Object.entries((oauth["provider"] ?? {}) as JsonObject).find(([, one]) => one) ?? [];
    const domains = ((config as JsonObject | undefined)?.["email_domains"] ?? []) as readonly string[];
    return ofProvider(name, domains);
  }
  const oidc = appliedModule(object, "oidc");
  const issuer = oidc?.["issuer"];
  if (oidc) return `signed in with ${(typeof issuer === "string" && URL.parse(issuer)?.host) || "OpenID Connect"}`;
  if (appliedModule(object, "saml")) return "signed in with SAML";
  return hasOwnPassword(object) ? "with a password" : signInOfPolicy(policyRules(object));
}

/** The rules of an endpoint's policy with which the console decides who may reach it. */
function policyRules(object: JsonObject): readonly JsonObject[] {
  const policy = object["traffic_policy"];
  return typeof policy === "string" ? rulesIn(policy) : [];
}

function ofProvider(name: string, domains: readonly string[]): string {
  const who = domains.length > 0 ? `people at ${domains.join(", ")} ` : "";
  return `${who}signed in with ${providers[name] ?? name}`;
}

function signInOfPolicy(rules: readonly JsonObject[]): string | undefined {
  const domains = domainsIn(rules);

  for (const { type, config } of actionsOf(rules) as readonly {
    readonly type: string;
    readonly config?: JsonObject;
  }[]) {
    if (type === "basic-auth") return "with a password";
    if (type === "openid-connect") return "signed in with OpenID Connect";
    const provider = config?.["provider"];
    if (type === "oauth" && typeof provider === "string") return ofProvider(provider, domains);
  }
  return undefined;
}

/** Whether rules decide that the console has not made. */
function hasOtherPolicy(object: JsonObject): boolean {
  const policy = object["traffic_policy"];
  if (typeof policy === "string") return policy !== "" && rulesIn(policy).length === 0;
  return appliedModule(object, "traffic_policy") !== undefined && !hasOwnPassword(object);
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
