/** Who may reach a service whose rules are a traffic policy, such as a cloud endpoint: rules of the console in its text. */
import type { Json, JsonObject } from "../api.ts";
import { passwordAction, passwordRealm } from "./password.ts";
import { hasDomains, wordsOf } from "./protection.ts";
import type { Protection } from "./protection.ts";

const ruleName = "Who may reach the service";
type Phase = "on_http_request" | "on_tcp_connect";

/** Returns the phase in which the policy of an endpoint decides about access. */
export function accessPhase(url: string): Phase {
  return /^https?:/.test(url) ? "on_http_request" : "on_tcp_connect";
}

/** Returns the rules for a protection, in the order of traffic. */
export function accessRules(value: Protection): readonly JsonObject[] {
  const ranges = wordsOf(value.ranges);
  const actions = [
    ...(ranges.length > 0 ? [{ type: "restrict-ips", config: { allow: ranges } }] : []),
    ...loginActions(value),
  ];
  const domains = hasDomains(value.login) ? wordsOf(value.domains) : [];
  return [
    ...(actions.length > 0 ? [{ name: ruleName, actions }] : []),
    ...(domains.length > 0
      ? [
          {
            name: ruleName,
            expressions: [isNotListed(domains)],
            actions: [{ type: "deny", config: { status_code: 403 } }],
          },
        ]
      : []),
  ];
}

const identity = "actions.ngrok.oauth.identity";

/** Some providers return unverified addresses. The rule ignores them. */
function isNotListed(domains: readonly string[]): string {
  const listed = domains.map((one) => one.toLowerCase().replaceAll(".", "[.]")).join("|");
  const isListed = `${identity}.email.lowerAscii().matches('^[!-?A-~]+@(${listed})$')`;
  return `!(${identity}.email_verified && ${isListed})`;
}

/** Returns the e-mail domains with access, from the console's rules. */
export function domainsIn(rules: readonly JsonObject[]): readonly string[] {
  const expressions = rules.flatMap((rule) => (rule["expressions"] ?? []) as readonly string[]).join(" ");
  const listed = /matches\('[^(]*\(([^)]+)\)\$'\)/.exec(expressions)?.[1]?.replaceAll("[.]", ".").split("|");
  return listed ?? Array.from(expressions.matchAll(/endsWith\('@([^']+)'\)/g), ([, one = ""]) => one);
}

function loginActions({ login, clientId, clientSecret, issuer, user, password }: Protection): readonly JsonObject[] {
  const client = clientId === "" ? {} : { client_id: clientId, client_secret: clientSecret };
  if (login === "password") return [passwordAction(user, password)];
  if (login === "openid") return [{ type: "openid-connect", config: { issuer_url: issuer, ...client } }];
  return hasDomains(login) ? [{ type: "oauth", config: { provider: login, ...client } }] : [];
}

/** Whether a traffic policy contains nothing but a password that the console has set. */
export function hasOwnPassword(object: JsonObject): boolean {
  const policy = object["traffic_policy"] as JsonObject | string | null | undefined;
  const value = typeof policy === "string" ? undefined : policy?.["value"];
  const document = typeof value === "string" ? jsonOf(value) : undefined;
  const rules = Object.values(document ?? {}).flat() as unknown as readonly JsonObject[];
  const [action, ...others] = actionsOf(rules);
  const config = action?.["config"] as JsonObject | undefined;
  return others.length === 0 && action?.["type"] === "basic-auth" && config?.["realm"] === passwordRealm;
}

export function actionsOf(rules: readonly JsonObject[]): readonly JsonObject[] {
  return rules.flatMap((rule) => (rule["actions"] ?? []) as readonly JsonObject[]);
}

/** One rule of the console in a policy that is YAML. */
const line = /^[ \t]*- (\{"name":"Who may reach the service".*\})[ \t]*\n?/gm;

/** Returns the console's rules in a policy. */
export function rulesIn(policy: string): readonly JsonObject[] {
  const document = jsonOf(policy);
  if (!document)
    return [...policy.matchAll(line)].flatMap(([, text = ""]): readonly JsonObject[] => {
      const rule = jsonOf(text);
      return rule ? [rule] : [];
    });
  const rules = Object.values(document).flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []));
  return rules.filter(isOurs) as readonly JsonObject[];
}

/** Replaces the console's rules in a policy. Everything else stays unchanged. */
export function withRules(policy: string, phase: Phase, rules: readonly JsonObject[]): string {
  const document = jsonOf(policy);
  if (document) {
    const others: JsonObject = Object.fromEntries(
      Object.entries(document).map(([name, list]) => [
        name,
        Array.isArray(list) ? (list as readonly Json[]).filter((one) => !isOurs(one)) : list,
      ]),
    );
    const after = { ...others, [phase]: [...rules, ...((others[phase] ?? []) as readonly Json[])] };
    return JSON.stringify(after, undefined, 2);
  }
  const rest = policy.replaceAll(line, "");
  const head = new RegExp(`^${phase}:[ \\t]*(?:#.*)?\\n`, "m").exec(rest);
  if (!head) {
    const added = rules.map((one) => `  - ${JSON.stringify(one)}\n`).join("");
    return rules.length === 0 ? rest : `${rest.replace(/\n*$/, "\n")}${phase}:\n${added}`;
  }
  const at = head.index + head[0].length;
  // The items of a list have the same indentation.
  const indent = /^(?:[ \t]*(?:#.*)?\n)*([ \t]*)-/.exec(rest.slice(at))?.[1] ?? "  ";
  const added = rules.map((one) => `${indent}- ${JSON.stringify(one)}\n`).join("");
  return rest.slice(0, at) + added + rest.slice(at);
}

function isOurs(rule: Json): boolean {
  return (rule as JsonObject | null)?.["name"] === ruleName;
}

function jsonOf(text: string): JsonObject | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}
