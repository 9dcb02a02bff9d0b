/** The present access rules of a service as the form of a protection, and the change from one to the other. */
import { callOperation, postern } from "../api.ts";
import type { ApiObject, JsonObject } from "../api.ts";
import type { Description, Kind } from "../description.ts";
import { fieldsOf } from "../writes.ts";
import { policiesOf, signIn } from "./access.ts";
import { countryPatch, countryRuleOf } from "./countries.tsx";
import { accessPhase, accessRules, actionsOf, domainsIn, hasOwnPassword, rulesIn, withRules } from "./policy-access.ts";
import { hasDomains, loginModules, noProtection, rangeObjects, wordsOf } from "./protection.ts";
import type { Development, Login, Protection } from "./protection.ts";

/** An IP policy that decides about the service. */
export interface Deciding {
  readonly id: string;
  readonly name: string;
  readonly ranges: readonly string[];
}

export interface Current {
  readonly object: ApiObject;
  readonly value: Protection;
  /** The present login in words; "": none. */
  readonly kept: string;
  /** IP policies that people made, which stay until they are removed. */
  readonly policies: readonly Deciding[];
  /** The IP policy of the addresses in the form, which a change replaces. */
  readonly own: Deciding | undefined;
}

/** Beginning of the description of IP policies that this form makes. */
const ownPolicy = "access to ";

export function isByPolicy({ name }: Kind): boolean {
  return name === "endpoint";
}

/** Reads the present rules. */
export async function currentOf(object: ApiObject, isPolicy: boolean): Promise<Current> {
  if (isPolicy) {
    const rules = rulesIn(textOf(object["traffic_policy"]));
    const actions = actionsOf(rules);
    const config = (type: string): JsonObject | undefined =>
      actions.find((one) => one["type"] === type)?.["config"] as JsonObject | undefined;
    const ranges = ((config("restrict-ips")?.["allow"] ?? []) as readonly string[]).join(" ");
    const kept = signIn(object) ?? "";
    const provider = (config("oauth")?.["provider"] ?? "") as Login;
    const login: Login = kept === "" ? "" : hasDomains(provider) ? provider : "kept";
    return {
      object,
      value: { ...noProtection, ranges, login, domains: domainsIn(rules).join(" ") },
      kept,
      policies: [],
      own: undefined,
    };
  }
  const deciding = await policiesWith(policiesOf(object));
  const own = deciding.find(({ name, isAllowing }) => name.startsWith(ownPolicy) && isAllowing);
  const policies = deciding.filter((one) => one !== own);
  const kept = signIn(object) ?? "";
  const [provider, config] = oauthOf(object);
  const login: Login = kept === "" ? "" : hasDomains(provider) ? provider : "kept";
  const domains = ((config?.["email_domains"] ?? []) as readonly string[]).join(" ");
  return {
    object,
    kept,
    policies,
    own,
    value: { ...noProtection, ...countryRuleOf(object), login, domains, ranges: (own?.ranges ?? []).join(" ") },
  };
}

function oauthOf(object: JsonObject): readonly [provider: Login, config: JsonObject | undefined] {
  const oauth = object["oauth"] as JsonObject | null | undefined;
  if (!oauth || oauth["enabled"] === false) return ["", undefined];
  const found = Object.entries((oauth["provider"] ?? {}) as JsonObject).find(([, one]) => one !== null);
  return found ? [found[0] as Login, found[1] as JsonObject] : ["", undefined];
}

async function policiesWith(ids: readonly string[]) {
  if (ids.length === 0) return [];
  const among = JSON.stringify(ids);
  const [policies, rules] = await Promise.all([
    postern.ipPolicies.list({ limit: 100, filter: `obj.id in ${among}` }).page(),
    postern.ipPolicyRules.list({ limit: 100, filter: `obj.ip_policy.id in ${among}` }).page(),
  ]);
  return policies.items.map(({ id, description }) => {
    const own = rules.items.filter(({ ip_policy }) => ip_policy.id === id);
    return {
      id,
      name: description || "an IP policy without a description",
      ranges: own.map(({ cidr, action }) => (action === "deny" ? `not ${cidr}` : cidr)),
      isAllowing: own.every(({ action }) => action === "allow"),
    };
  });
}

export interface WantedProtection {
  readonly value: Protection;
  /** Ids of IP policies that decide besides the addresses of the form. */
  readonly policies: readonly string[];
}

export interface ServicePlace {
  readonly kind: Kind;
  readonly parents: readonly string[];
  readonly id: string;
  readonly name: string;
}

const reason = "protect the service";

/** Writes the changed rules. All writes have the same reason, so that the history shows and undoes them as one change. */
export async function writeProtection(
  { kind, parents, id, name }: ServicePlace,
  { object, value: before, own, policies: present }: Current,
  { value, policies }: WantedProtection,
  development: Development | undefined,
  description: Description,
): Promise<void> {
  const update = async (patch: JsonObject, options = {}): Promise<void> =>
    void (await callOperation(kind.update ?? "", ...parents, id, patch, { reason, waitSeconds: 2, ...options }));
  if (isByPolicy(kind)) {
    const text = textOf(object["traffic_policy"]);
    // Endpoints have no ETag, because agents also have some.
    if (textOf((await callOperation(kind.get ?? "", id))["traffic_policy"]) !== text) {
      throw new Error("Someone else changed the policy after you opened it. Close this dialog and open it again.");
    }
    const phase = accessPhase(textOf(object["url"] ?? object["public_url"]));
    await update({ traffic_policy: withRules(text, phase, rulesFor(value, rulesIn(text))) });
    return;
  }
  const isOther = wordsOf(before.ranges).join() !== wordsOf(value.ranges).join();
  const made = isOther ? await newPolicy(name, value.ranges) : own ? [own.id] : [];
  const ids = [...policies, ...made];
  const isSame = ids.join() === [...present.map((one) => one.id), ...(own ? [own.id] : [])].join();
  const restriction = fieldsOf(object, kind, description)["ip_restriction"] as JsonObject | null | undefined;
  const patch = {
    ...loginPatch(object, before, value, development),
    ...countryPatch(before, value),
    ...(!isSame && {
      ip_restriction: ids.length === 0 ? null : { ...restriction, enabled: true, ip_policy_ids: ids },
    }),
  };
  await update(patch, { ifMatch: object });
  // Another service may use it, too. Then it stays.
  if (isOther && own) await postern.ipPolicies.delete(own.id, { reason }).catch(() => undefined);
}

/** A login that stays has the same action as before. */
function rulesFor(value: Protection, before: readonly JsonObject[]): readonly JsonObject[] {
  const rules = accessRules(value);
  const logins = actionsOf(before).filter((one) => one["type"] !== "restrict-ips" && one["type"] !== "deny");
  if (value.login === "kept") {
    return [
      { ...before[0], actions: [...actionsOf(rules), ...logins] },
      ...before.filter((rule) => rule["expressions"] !== undefined),
    ];
  }
  const [present] = logins.filter((one) => (one["config"] as JsonObject | undefined)?.["provider"] === value.login);
  if (!present || value.clientId !== "") return rules;
  const [first, ...others] = rules;
  const actions = actionsOf(first ? [first] : []).map((one) => (one["type"] === "oauth" ? present : one));
  return [{ ...first, actions }, ...others];
}

function loginPatch(
  object: ApiObject,
  before: Protection,
  value: Protection,
  development: Development | undefined,
): JsonObject {
  if (value.login === "kept") return {};
  if (value.login === before.login && hasDomains(value.login)) {
    const isSame = wordsOf(before.domains).join() === wordsOf(value.domains).join();
    if (isSame && value.clientId === "") return {};
    const [provider, config] = oauthOf(object);
    const client = value.clientId === "" ? {} : { client_id: value.clientId, client_secret: value.clientSecret };
    const changed = { ...config, ...client, email_domains: wordsOf(value.domains) };
    return { oauth: { ...(object["oauth"] as JsonObject), provider: { [provider]: changed } } };
  }
  const fields = ["oauth", "oidc", "saml"].filter((one) => one in object);
  const none = Object.fromEntries(fields.map((one) => [one, null]));
  return {
    ...none,
    ...(before.login === "kept" && hasOwnPassword(object) && { traffic_policy: null }),
    ...(value.login !== "" && loginModules(value, development)),
  };
}

/** Creates an IP policy with the ranges. It has no effect until the service uses it. */
async function newPolicy(name: string, ranges: string): Promise<readonly string[]> {
  const key = `addresses-${Date.now().toString(36)}`;
  const objects = rangeObjects(key, ranges, name);
  if (Object.keys(objects).length === 0) return [];
  const document = { document: `console-${key}`, objects };
  const made = await postern.apply(document as never, { reason, waitSeconds: 2 });
  return made.changes.filter(({ kind }) => kind === "ip_policy").map(({ id }) => id);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
