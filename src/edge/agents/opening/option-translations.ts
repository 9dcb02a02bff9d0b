/**
 * Compiles the options of an agent's tunnel (agent-protocol, "Options of a tunnel") to the same modules that routes
 * have. An option without a module is refused and never silently ignored.
 */
import { hash } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { RefusalName } from "../../../lib/errors.ts";
import type { CompiledModule, Look, ModuleDeclaration, Scope } from "../../../traffic/module.ts";
import { prepareModules } from "../../../routing/compile/prepare-modules.ts";
import type { ModuleConfiguration } from "../../../routing/compile/prepare-modules.ts";
import { parseFields } from "../../../schema/parse-fields.ts";
import type { ModulePlace, ResourceObject } from "../../../schema/object.ts";
import { basicAuthOption, compileBasicAuth } from "./basic-auth-option.ts";
import { captureOption } from "./capture-option.ts";
import { terminationOption } from "./termination.ts";
import { isJsonObject } from "../../../lib/json.ts";

/** The tunnel that the options belong to. */
export interface OptionsOwner {
  readonly accountId: string;
  readonly endpointId: string;
  /** Host of the endpoint. */
  readonly host: string;
  readonly clock: Clock;
  /** Objects of the account that a traffic policy may name. Default: none. */
  readonly named?: Pick<Look, "get" | "children">;
  /** Places whose modules the endpoint may have. Default: an HTTPS edge and its route. */
  readonly places?: readonly ModulePlace[];
}

type Option = Readonly<Record<string, unknown>>;

interface Translation {
  readonly module: string;
  /** Members of the option that are read. */
  readonly members: readonly string[];
  config(option: Option): Readonly<Record<string, unknown>>;
  /** Returns fields that a route's module does not have. */
  internal?(option: Option): Readonly<Record<string, unknown>>;
  /** Returns the option for a value that is text instead of an object. */
  fromText?(text: string): Option;
  /** Refusal for an invalid configuration. Default: `agent_request_invalid`. */
  readonly refusal?: RefusalName;
  /** Returns objects to which the configuration refers, which exist only for this tunnel. */
  objects?(option: Option): readonly Pick<ResourceObject, "kind" | "id" | "doc">[];
}

/** Members that contain the name or are only for the agent. The protocol layer has already read them. */
export const inert: ReadonlySet<string> = new Set([
  "url",
  "domain",
  "hostname",
  "subdomain",
  "addr",
  "localurlscheme",
  "proxyproto",
]);

const maxListItems = 1000;
const maxTextBytes = 4096;
const inlinePolicy = "inline";
const inlineAuthority = "inline";
/** Maximum size of authorities' certificates in base64, bytes. */
const maxAuthorityBytes = 64 * 1024;
const policyOption = "trafficpolicy";
const olderPolicy = "policy";
const headerMembers = ["add", "remove"];
/** Module before which basic authentication acts, like the other logins. */
const firstLogin = "oauth";
const httpPlaces: readonly ModulePlace[] = ["https_route", "https_edge"];

/** Members of both kinds of logins. */
const loginMembers = [
  "client_id",
  "client_secret",
  "sealed_client_secret",
  "scopes",
  "allow_emails",
  "allow_domains",
  "machine_clients",
];

const mutualTls: Translation = {
  module: "mutual_tls",
  members: ["mutual_tls_ca"],
  config: () => ({ certificate_authority_ids: [inlineAuthority] }),
  objects: (option) => [
    { kind: "certificate_authority", id: inlineAuthority, doc: { ca_pem: readAuthorities(option["mutual_tls_ca"]) } },
  ],
};

/** Members with the same name in a route's module. Omits those determined by the place of an agent's endpoint. */
const samlMembers = [
  "idp_metadata",
  "idp_metadata_url",
  "nameid_format",
  "force_authn",
  "allow_idp_initiated",
  "authorized_groups",
  "options_passthrough",
  "cookie_prefix",
  "inactivity_timeout",
  "maximum_duration",
  "machine_clients",
];

/** A policy as text, or in the older form as an object (agent-protocol, "Options of a tunnel"). */
const trafficPolicy: Translation = {
  module: "traffic_policy",
  members: ["value"],
  config: (option) => ({ value: option["value"] }),
  fromText: (value) => ({ value }),
  refusal: "agent_policy_invalid",
};

/** Module of each option, by the option's name in lower case. */
export const translations: Readonly<Record<string, Translation>> = {
  [policyOption]: trafficPolicy,
  [olderPolicy]: trafficPolicy,
  compression: { module: "compression", members: [], config: () => ({}) },
  forwarding: {
    module: "forwarding",
    members: ["response_timeout", "encoded_slashes"],
    config: ({ response_timeout = 0, encoded_slashes = false }) => ({ response_timeout, encoded_slashes }),
  },
  circuitbreaker: {
    module: "circuit_breaker",
    members: ["error_threshold"],
    config: (option) => ({
      tripped_duration: 10,
      rolling_window: 10,
      num_buckets: 10,
      volume_threshold: 20,
      error_threshold_percentage: readShare(option["error_threshold"]),
    }),
  },
  iprestriction: {
    module: "ip_restriction",
    members: ["allow_cidrs", "deny_cidrs"],
    config: () => ({ ip_policy_ids: [inlinePolicy] }),
    objects: (option) => [
      { kind: "ip_policy", id: inlinePolicy, doc: { description: "", metadata: "" } },
      ...cidrRules(option),
    ],
  },
  countryrestriction: {
    module: "country_restriction",
    members: ["allow", "deny"],
    config: (option) => ({ allow: readTexts(option["allow"], "allow"), deny: readTexts(option["deny"], "deny") }),
  },
  mutualtlsca: mutualTls,
  mutualtlsatedge: mutualTls,
  websockettcpconverter: { module: "websocket_tcp_converter", members: [], config: () => ({}) },
  mcp: { module: "mcp", members: [], config: () => ({}) },
  requestheaders: { module: "request_headers", members: headerMembers, config: headerEdits },
  responseheaders: { module: "response_headers", members: headerMembers, config: headerEdits },
  useragentfilter: {
    module: "user_agent_filter",
    members: ["allow", "deny"],
    config: (option) => ({ allow: readTexts(option["allow"], "allow"), deny: readTexts(option["deny"], "deny") }),
  },
  oauth: {
    module: "oauth",
    members: ["provider", ...loginMembers],
    config: (option) => ({
      provider: {
        [readText(option["provider"], "provider").toLowerCase()]: { ...clientOf(option), ...allowedOf(option) },
      },
      ...machineClientsIn(option),
    }),
  },
  oidc: {
    module: "oidc",
    members: ["issuer_url", ...loginMembers],
    config: (option) => ({
      issuer: readText(option["issuer_url"], "issuer_url"),
      ...clientOf(option),
      ...machineClientsIn(option),
    }),
    internal: allowedOf,
  },
  saml: {
    module: "saml",
    members: samlMembers,
    // Omitted and null members have the module's default. `false` is a value.
    config: (option) => Object.fromEntries(Object.entries(option).filter(([, value]) => (value ?? null) !== null)),
  },
  webhookverification: {
    module: "webhook_verification",
    members: ["provider", "secret"],
    config: (option) => ({
      provider: readText(option["provider"], "provider"),
      secret: readText(option["secret"], "secret"),
    }),
  },
};

/** Has the same form in a route's module. */
function machineClientsIn({ machine_clients }: Option): Option {
  return machine_clients === undefined || machine_clients === null ? {} : { machine_clients };
}

/**
 * Returns equal text for tunnels of one protocol whose options have the same effect on traffic. The text reveals
 * nothing about the options.
 */
export function likenessOf(proto: string, options: Option): string {
  const acting = Object.entries(options).filter(([name, value]) => !isUnset(value) && !inert.has(name.toLowerCase()));
  return hash("sha256", JSON.stringify([proto, acting]), "base64");
}

/**
 * Compiles `options` in the order of `modules`. Throws `agent_option_unsupported` for an option without a module,
 * `agent_request_invalid` for an invalid one.
 */
export function compileOptions(
  options: Option,
  owner: OptionsOwner,
  modules: readonly ModuleDeclaration[],
): readonly CompiledModule[] {
  const { places = httpPlaces } = owner;
  const isOffered = (name: string): boolean =>
    modules.some((module) => module.name === name && module.on.some((place) => places.includes(place)));
  const asked = new Map<string, { readonly name: string; readonly option: Option; readonly by: Translation }>();
  let basicAuth: CompiledModule | undefined;
  for (const [name, value] of Object.entries(options)) {
    if (isUnset(value) || inert.has(name.toLowerCase())) continue;
    if (name.toLowerCase() === terminationOption && places.includes("tls_edge")) continue;
    if (name.toLowerCase() === captureOption && places.includes("https_route")) continue;
    if (name.toLowerCase() === basicAuthOption && places.includes("https_route")) {
      basicAuth = compileOwn(name, value);
      continue;
    }
    const translation = Object.hasOwn(translations, name.toLowerCase()) ? translations[name.toLowerCase()] : undefined;
    const option = optionOf(name, value, translation);
    if (!translation || !option || !isOffered(translation.module)) throw refuseOption(name, "it is not supported");
    const unread = Object.keys(option).find((key) => !translation.members.includes(key) && !isNothing(option[key]));
    if (unread !== undefined) throw refuseOption(name, `its "${unread}" is not supported`);
    if (asked.has(translation.module)) {
      if (translation === trafficPolicy) {
        throw new Refusal("agent_policies_both", `compile the option "${name}": another option sets the same`);
      }
      throw new Refusal("agent_request_invalid", `compile the option "${name}": another option sets the same`);
    }
    asked.set(translation.module, { name, option, by: translation });
  }
  const compiled = (some: readonly ModuleDeclaration[]): CompiledModule[] =>
    some.flatMap((module) => {
      const one = asked.get(module.name);
      return one ? [compileOne(module, one.name, one.option, one.by, owner)] : [];
    });
  const logins = Math.max(
    0,
    modules.findIndex(({ name }) => name === firstLogin),
  );
  return [...compiled(modules.slice(0, logins)), ...(basicAuth ? [basicAuth] : []), ...compiled(modules.slice(logins))];
}

/** The older `Policy` is the policy itself. */
function optionOf(name: string, value: unknown, translation: Translation | undefined): Option | undefined {
  if (typeof value === "string") return translation?.fromText?.(value);
  if (!isJsonObject(value)) return undefined;
  return name.toLowerCase() === olderPolicy ? { value: JSON.stringify(value) } : value;
}

/**
 * Does the work of `compileOptions` in advance and in slices. Returns undefined if it is fast anyway. The caller must
 * hold the result until the options were compiled.
 */
export function prepareOptions(
  options: Option,
  owner: Pick<OptionsOwner, "accountId" | "places">,
  modules: readonly ModuleDeclaration[],
): Promise<readonly unknown[]> | undefined {
  const { accountId, places = httpPlaces } = owner;
  return prepareModules(accountId, configurations());

  function* configurations(): Iterable<ModuleConfiguration> {
    for (const [name, value] of Object.entries(options)) {
      if (name.toLowerCase() !== policyOption && name.toLowerCase() !== olderPolicy) continue;
      const policy = optionOf(name, value, trafficPolicy)?.["value"];
      const module = modules.find((one) => one.name === trafficPolicy.module);
      const place = places.find((one) => module?.on.includes(one));
      if (typeof policy !== "string" || !module || !place) continue;
      yield [module, { value: policy }, place];
    }
  }
}

function compileOwn(name: string, value: unknown): CompiledModule {
  if (!isJsonObject(value)) throw refuseOption(name, "it is not supported in this form");
  const unread = Object.keys(value).find((key) => key !== "credentials" && !isNothing(value[key]));
  if (unread !== undefined) throw refuseOption(name, `its "${unread}" is not supported`);
  try {
    return compileBasicAuth(value);
  } catch (error) {
    throw new Refusal("agent_request_invalid", `compile the option "${name}": ${(error as Error).message}`);
  }
}

function refuseOption(name: string, why: string): Refusal {
  return new Refusal("agent_option_unsupported", `open a tunnel with the option "${name}": ${why}`);
}

function compileOne(
  module: ModuleDeclaration,
  name: string,
  option: Option,
  by: Translation,
  owner: OptionsOwner,
): CompiledModule {
  const refusal = by.refusal ?? "agent_request_invalid";
  const bad = (why: string): Refusal => new Refusal(refusal, `compile the option "${name}": ${why}`);
  try {
    const { doc, issues } = parseFields(module.fields, by.config(option), "replace");
    const place = (owner.places ?? httpPlaces).find((one) => module.on.includes(one)) as ModulePlace;
    for (const rule of module.rules ?? []) {
      const issue = issues.length === 0 ? rule(doc as never, place) : undefined;
      // An agent's endpoint is not a route of a shared edge, so its rules may act on connections.
      if (issue && issue.reason !== "policy_connect_phase_refused") throw bad(`${issue.path} ${issue.message}`);
    }
    const [first] = issues;
    if (first) throw bad(`${first.path} ${first.message}`);
    if (readsSecrets(module, doc)) throw bad("it reads secrets of the account, which agents may not read");
    const scope = inlineScope(owner, by.objects?.(option) ?? []);
    return module.compile({ enabled: true, ...doc, ...by.internal?.(option) } as never, scope, place);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw bad(error instanceof Error ? error.message : String(error));
  }
}

/** An agent's token opens tunnels and must not reveal the account's secrets (security G2). */
function readsSecrets({ fields }: ModuleDeclaration, doc: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).some(
    ([name, { sensitive }]) =>
      typeof sensitive === "object" && (sensitive.secrets?.(String(doc[name])).length ?? 0) > 0,
  );
}

/** Returns a scope with the tunnel's own objects, or without any, with the named objects of the account. */
function inlineScope(owner: OptionsOwner, ownObjects: readonly Pick<ResourceObject, "kind" | "id" | "doc">[]): Scope {
  const named = ownObjects.length === 0 ? owner.named : undefined;
  const objects = ownObjects.map((object) => ({ ...object, account_id: owner.accountId, revision: 0 }));
  const look: Look = {
    accountId: owner.accountId,
    get: (kind, id) =>
      named ? named.get(kind, id) : objects.find((object) => object.kind === kind && object.id === id),
    children: (kind, parentId) =>
      named
        ? named.children(kind, parentId)
        : objects.filter((object) => object.kind === kind && object.doc["ip_policy_id"] === parentId),
  };
  // Compiled once for its only owner, so nothing is shared or cached.
  return {
    ...look,
    ownerId: owner.endpointId,
    siteId: `${owner.accountId} ${owner.host}`,
    endpointHost: owner.host,
    revision: 0,
    clock: owner.clock,
    shared: (_key, make) => make(look),
    keep: (_key, make) => make(),
  };
}

function clientOf(option: Option): Readonly<Record<string, unknown>> {
  return {
    client_id: readText(option["client_id"], "client_id"),
    client_secret: readText(option["client_secret"], "client_secret"),
    scopes: readTexts(option["scopes"], "scopes"),
  };
}

/** Returns the allowed users in lower case, because agents send text as users typed it. */
function allowedOf(option: Option): { readonly email_addresses: string[]; readonly email_domains: string[] } {
  const lower = (name: string): string[] => readTexts(option[name], name).map((one) => one.trim().toLowerCase());
  return { email_addresses: lower("allow_emails"), email_domains: lower("allow_domains") };
}

/**
 * Returns the rules of an IP restriction. Without `allow_cidrs`, every address is allowed that is not denied, as agents
 * expect.
 */
export function cidrRules(option: Option): Pick<ResourceObject, "kind" | "id" | "doc">[] {
  const allow = readTexts(option["allow_cidrs"], "allow_cidrs");
  const deny = readTexts(option["deny_cidrs"], "deny_cidrs");
  const rule = (action: string) => (cidr: string, index: number) => ({
    kind: "ip_policy_rule",
    id: `${action}-${index}`,
    doc: { cidr, action, ip_policy_id: inlinePolicy, description: "", metadata: "" },
  });
  const allowed = allow.length > 0 ? allow : ["0.0.0.0/0", "::/0"];
  return [...allowed.map(rule("allow")), ...deny.map(rule("deny"))];
}

function headerEdits(option: Option): Readonly<Record<string, unknown>> {
  const add: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const line of readTexts(option["add"], "add")) {
    const colon = line.indexOf(":");
    if (colon < 1) throw new Error(`read "${line}": it must be a name, a colon and a value`);
    add[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim();
  }
  return { add: { ...add }, remove: readTexts(option["remove"], "remove").map((name) => name.toLowerCase()) };
}

function readTexts(value: unknown, name: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || value.length > maxListItems) {
    throw new Error(`"${name}" must be a list of at most ${maxListItems} strings`);
  }
  return value.map((one) => readText(one, name));
}

function readText(value: unknown, name: string): string {
  if (value === undefined) return "";
  if (typeof value === "string" && Buffer.byteLength(value) <= maxTextBytes) return value;
  throw new Error(`"${name}" must be text of at most ${maxTextBytes} bytes`);
}

/** Returns PEM from its base64 on the wire. */
export function readAuthorities(value: unknown): string {
  if (typeof value === "string" && value.length <= maxAuthorityBytes) return Buffer.from(value, "base64").toString();
  throw new Error(`"mutual_tls_ca" must be base64 of a PEM file, at most ${maxAuthorityBytes} characters`);
}

/** Absent means 0, because agents omit members with their default value. */
function readShare(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && value >= 0 && value <= 1) return value;
  throw new Error('"error_threshold" must be a number from 0 to 1');
}

/** Whether an agent sends this value for an unused option. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === "" || value === false || value === 0;
}

/** Like `isUnset`, for values inside an option, where empty lists and objects also have no meaning. */
export function isNothing(value: unknown): boolean {
  return isUnset(value) || (typeof value === "object" && Object.keys(value as object).length === 0);
}
