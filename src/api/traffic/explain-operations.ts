/** Dry runs of described requests and connections at the edge. */
import { normaliseAddress } from "../../lib/address.ts";
import { Refusal } from "../../lib/errors.ts";
import { isHttpToken } from "../../lib/http-token.ts";
import type { ExplanationReport, RequestDescription, RouteDraft } from "../../routing/planes/edge-questions.ts";
import { f } from "../../schema/fields.ts";
import type { Fields, Issue, StringFormat } from "../../schema/fields.ts";
import { countryCode, ipAddress } from "../../schema/formats.ts";
import { parseFields } from "../../schema/parse-fields.ts";
import type { Store } from "../../storage/store.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { requireObject } from "../objects/lookup.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { exampleConnection, exampleExplanation } from "./traffic-examples.ts";
import { refuseMissingScope } from "../operation/missing-scope.ts";
import { seesEverything, seesSecrets } from "../operation/scope.ts";
import { concealedPolicy } from "../../policy/concealed-policy.ts";
import {
  connectPhaseIssue,
  maxPolicyBytes,
  policyIssue,
  policyRefusals,
  policyText,
} from "../../policy/policy-document.ts";
import type { JsonObject } from "../../lib/json.ts";
import { withoutAdded } from "./concealed-headers.ts";
import { explanationSchema, stepSchema } from "./traffic-schemas.ts";
import { viewOfTunnel } from "./serving-tunnel.ts";
import { renderSteps } from "./render-steps.ts";

interface Explaining {
  readonly store: Store;
  readonly queries: Pick<EdgeQueries, "ask">;
}

const method: StringFormat = {
  name: "method",
  example: "GET",
  check: (text) => (isHttpToken(text) && text.length <= 32 ? undefined : "be a method such as GET"),
};
const requestUrl: StringFormat = {
  name: "url",
  example: "https://app.example.com/orders?open",
  check: (text) =>
    partsOf(text) ? undefined : "be an https:// or http:// URL of visible ASCII, without user and fragment",
};
const target: StringFormat = {
  name: "request-target",
  example: "/orders?open",
  check: (text) => (/^\/[\x21-\x7e]*$/.test(text) && !text.includes("#") ? undefined : "be a path in visible ASCII"),
};
const hostText: StringFormat = {
  name: "host",
  example: "app.example.com",
  check: (text) =>
    /^[\x21-\x7e]+$/.test(text) && !/[/?#@]/.test(text) ? undefined : "be a host, with or without port",
};
const fieldName: StringFormat = {
  name: "field-name",
  example: "user-agent",
  check: (text) => (isHttpToken(text) ? undefined : "be the name of a header field"),
};
const fieldValue: StringFormat = {
  name: "field-value",
  example: "curl/8.0",
  check: (text) => (/^[\t\x20-\x7e\x80-\xff]*$/.test(text) ? undefined : "be one line of Latin-1"),
};

const visitorAddress: StringFormat = {
  name: "email",
  example: "ada@example.com",
  check: (text) => (/^[^\s@]+@[^\s@]+$/.test(text) ? undefined : "be an e-mail address"),
};

const source = f.nullableString("Address of the client; default: the caller's address.", { format: ipAddress });
const country = f.nullableString("Country of the client (ISO 3166-1 alpha-2); default: that of its address.", {
  format: countryCode,
});
const headerMap = (doc: string) =>
  f.map(doc, f.string("Value.", { maxBytes: 8192, format: fieldValue }), {
    key: { type: "string", doc: "Name.", maxBytes: 255, format: fieldName },
    maxItems: 128,
  });

export const requestFields = {
  method: f.string("Method.", { default: "GET", format: method }),
  url: f.nullableString("URL, instead of `host` and `path`.", { maxBytes: 16_384, format: requestUrl }),
  host: f.nullableString("Host; default: the first host of the edge.", { format: hostText }),
  path: f.nullableString("Path and query; default: `/`.", { maxBytes: 16_384, format: target }),
  headers: headerMap("Header fields of the client. Host is optional."),
  source_ip: source,
  country,
  body: f.string("Body.", { maxBytes: 524_288 }),
  as: f.object(
    "A visitor to treat as logged in: with an existing session, or else as after a new login.",
    {
      email: f.string("E-mail address.", { required: true, maxBytes: 320, format: visitorAddress }),
      email_verified: f.boolean("Whether the provider has verified the address.", { default: true }),
      provider_user_id: f.string("Id at the provider.", { maxBytes: 1024 }),
      name: f.string("Name.", { maxBytes: 1024 }),
      groups: f.list("Teams, organizations or groups.", f.string("One group.", { maxBytes: 1024 }), {
        maxItems: 100,
      }),
    },
    { nullable: true },
  ),
  response: f.object(
    "Simulated response of the upstream.",
    {
      status_code: f.uint32("Status.", { min: 200, max: 599, default: 200 }),
      headers: headerMap("Header fields."),
      body: f.string("Body, for rules of traffic policies that act on it.", { maxBytes: 524_288 }),
    },
    { nullable: true },
  ),
} satisfies Fields;

export const requestExample = {
  method: "GET",
  url: "https://app.example.com/orders?open",
  headers: { "user-agent": "curl/8.0" },
  source_ip: "192.0.2.1",
};

/** A hypothetical configuration of a route, to see its effect. */
export const draftField = f.object(
  "A traffic policy to use instead of the policy of a route: only for keys that may write and read everything.",
  {
    route_id: f.string("Id of the route.", { required: true, maxBytes: 64 }),
    traffic_policy: f.string("The policy, as JSON or YAML; empty: none.", {
      required: true,
      maxBytes: maxPolicyBytes,
      sensitive: concealedPolicy,
      format: policyText,
    }),
  },
  { nullable: true },
);
const edgeFields = { ...requestFields, draft: draftField } satisfies Fields;

export const connectionFields = { source_ip: source, country } satisfies Fields;

export function explainOperations({ store, queries }: Explaining): Operation[] {
  const shared = {
    method: "POST",
    // A dry run changes nothing.
    reads: true,
    takes: "object",
    status: 200,
    replySchema: "Explanation",
    schemas: { Explanation: explanationSchema, Step: stepSchema },
    exampleReply: exampleExplanation,
    refusals: ["edge_silent"],
  } as const;
  return [
    {
      ...shared,
      id: "explainHTTPSEdge",
      path: "/edges/https/{id}/explain",
      summary: "Return what the edge would do with a request, without sending it.",
      input: edgeFields,
      refusals: ["edge_silent", "scope_missing", ...policyRefusals],
      exampleBody: requestExample,
      run: (call) => explainRequest(call, { store, queries }),
    },
    ...(["tls", "tcp"] as const).map((kind) => ({
      ...shared,
      id: `explain${kind.toUpperCase()}Edge`,
      path: `/edges/${kind}/{id}/explain`,
      summary: `Return what the ${kind.toUpperCase()} edge would do with a connection, without opening it.`,
      input: connectionFields,
      exampleReply: exampleConnection(kind),
      run: (call: Call) => explainConnection(call, `${kind}_edge`, { store, queries }),
    })),
  ];
}

async function explainRequest(call: Call, { store, queries }: Explaining): Promise<Reply> {
  const edge = requireObject(resourceNamed("https_edge"), call, store);
  const hostports = edge.doc["hostports"] as readonly string[] | null;
  const { draft: given, ...described } = call.body;
  const draft = draftOf(call, given, edge.id, store);
  const without = "the edge has no hostport";
  const request = readDescribedRequest({ ...call, body: described }, "https", exampleHost(hostports?.[0]), without);
  const { accountId } = call.principal;
  const answer = await queries.ask({ name: "explain_request", accountId, siteId: edge.id, request, draft });
  if (answer.name === "elsewhere") throw refuseElsewhere(call, `this edge: ${edge.id} does not serve "${answer.host}"`);
  return replyWithExplanation(call, store, answer, request);
}

/** Throws `Refusal` unless the key may read everything: a policy can read secrets, and its decisions reveal them. */
function draftOf(call: Call, input: unknown, edgeId: string, store: Store): RouteDraft | undefined {
  if (input === undefined || input === null) return undefined;
  const { accountId, scope } = call.principal;
  if (scope && !scope.write) throw refuseMissingScope(call.operation, "write");
  if (!seesSecrets(scope)) throw refuseMissingScope(call.operation, "secrets");
  if (!seesEverything(scope))
    throw refuseMissingScope(call.operation, "metadata:", "it must be allowed to read every object of its account");
  const { doc, issues } = parseFields({ draft: draftField }, { draft: input } as JsonObject, "create");
  const draft = doc["draft"] as { readonly route_id: string; readonly traffic_policy: string } | null;
  if (issues.length > 0 || !draft) throw inputRefusal(call.operation.id, issues);
  const { route_id: routeId, traffic_policy: value } = draft;
  const route = store.get(accountId, "https_edge_route", routeId);
  const issue =
    route?.doc["edge_id"] === edgeId
      ? value.trim() === ""
        ? undefined
        : (policyIssue(value, "http", "draft.traffic_policy") ??
          connectPhaseIssue(value, "draft.traffic_policy", "policy_connect_phase_refused"))
      : { path: "draft.route_id", message: "must be a route of this edge" };
  if (issue) throw inputRefusal(call.operation.id, [issue]);
  return { routeId, fields: { traffic_policy: value.trim() === "" ? null : { enabled: true, value } } };
}

interface DescribedAs {
  readonly email: string;
  readonly email_verified: boolean;
  readonly provider_user_id: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * Returns the refusal of a host that resolves to something else.
 * @param place expected target, and why the host does not lead there
 */
export function refuseElsewhere(call: Call, place: string): Refusal {
  const path = typeof call.body["url"] === "string" ? "url" : "host";
  return inputRefusal(call.operation.id, [{ path, message: `must lead to ${place}` }]);
}

/**
 * Returns the request that a call describes. Throws `Refusal`.
 * @param usual the default host
 * @param without why there is no default
 */
export function readDescribedRequest(
  call: Call,
  scheme: "https" | "http",
  usual: string | undefined,
  without: string,
): RequestDescription {
  const { doc, issues } = parseFields(requestFields, call.body, "create");
  const url = typeof doc["url"] === "string" ? partsOf(doc["url"]) : undefined;
  const found: Issue[] = [...issues];
  if (url && (doc["host"] !== null || doc["path"] !== null)) {
    found.push({ path: "url", message: "must not be set together with host or path" });
  }
  if (url && url.scheme !== scheme) found.push({ path: "url", message: `must begin with ${scheme}://` });
  const host = url?.host ?? (doc["host"] as string | null) ?? usual;
  if (host === undefined) found.push({ path: "host", message: `is required: ${without}` });
  if (found.length > 0) throw inputRefusal(call.operation.id, found);
  const as = doc["as"] as DescribedAs | null;
  const response = doc["response"] as {
    status_code: number;
    headers: Record<string, string>;
    body: string;
  } | null;
  return {
    scheme,
    method: doc["method"] as string,
    host: host as string,
    target: url?.target ?? (doc["path"] as string | null) ?? "/",
    headers: Object.entries(doc["headers"] as Record<string, string>),
    source: sourceOf(call, doc["source_ip"]),
    country: (doc["country"] as string | null) ?? undefined,
    body: doc["body"] as string,
    ...(as && {
      as: {
        email: as.email,
        emailVerified: as.email_verified,
        id: as.provider_user_id,
        name: as.name,
        groups: as.groups,
      },
    }),
    response: response
      ? { status: response.status_code, headers: Object.entries(response.headers), body: response.body }
      : undefined,
  };
}

async function explainConnection(
  call: Call,
  kind: "tls_edge" | "tcp_edge",
  { store, queries }: Explaining,
): Promise<Reply> {
  const edge = requireObject(resourceNamed(kind), call, store);
  const { doc, issues } = parseFields(connectionFields, call.body, "create");
  if (issues.length > 0) throw inputRefusal(call.operation.id, issues);
  const { accountId } = call.principal;
  const country = (doc["country"] as string | null) ?? undefined;
  const asked = { accountId, kind, siteId: edge.id, source: sourceOf(call, doc["source_ip"]), country };
  return replyWithExplanation(call, store, await queries.ask({ name: "explain_connection", ...asked }));
}

export function replyWithExplanation(
  call: Call,
  store: Pick<Store, "get">,
  answer: Awaited<ReturnType<EdgeQueries["ask"]>>,
  described?: RequestDescription,
): Reply {
  if (answer.name !== "explanation") {
    throw new Refusal("edge_silent", `${call.operation.id}: the edge does not have this configuration yet`);
  }
  const { explanation } = answer;
  const { accountId, scope } = call.principal;
  if (seesSecrets(scope)) return { status: 200, body: JSON.stringify(renderReport(explanation)) };
  const { name, fields } = resourceNamed("https_edge_route");
  const found = store.get(accountId, name, explanation.route?.id ?? "");
  const report = withoutAdded(explanation, described, found && { doc: found.doc, fields });
  return { status: 200, body: JSON.stringify(renderReport(report)) };
}

function renderReport(report: ExplanationReport): Record<string, unknown> {
  const { near, tunnel, response } = report;
  return {
    revision: report.revision,
    edge: report.edge ?? null,
    source_country: report.sourceCountry || null,
    route: report.route ?? null,
    near_routes: near.map(({ id, matchType, match, reason }) => ({ id, match_type: matchType, match, reason })),
    outcome: report.outcome,
    status_code: report.status ?? null,
    error_code: report.errorCode ?? null,
    steps: renderSteps(report.steps),
    backend: report.backend ?? null,
    tunnel: viewOfTunnel(tunnel),
    address: report.address ?? null,
    request_headers: renderHeaders(report.requestHeaders),
    response: response ? { status_code: response.status, headers: renderHeaders(response.headers) } : null,
  };
}

function renderHeaders(pairs: ExplanationReport["requestHeaders"]): readonly Record<string, string>[] {
  return pairs.map(([name, value]) => ({ name, value }));
}

export function sourceOf(call: Call, value: unknown): string {
  const text = typeof value === "string" ? value : (call.request.socket.remoteAddress ?? "");
  return normaliseAddress(text) ?? "";
}

/** Returns a host that the hostport covers. All names under a wildcard are equivalent. */
function exampleHost(hostport: string | undefined): string | undefined {
  return hostport?.slice(0, hostport.lastIndexOf(":")).replace(/^\*\./, "any.");
}

/** Returns host and target as written. URL parsing would already have changed the path. */
function partsOf(
  text: string,
): { readonly scheme: string; readonly host: string; readonly target: string } | undefined {
  const [, scheme = "", host, rest = ""] = /^(https?):\/\/([^/?#@\s]+)([\x21-\x7e]*)$/i.exec(text) ?? [];
  if (host === undefined || rest.includes("#")) return undefined;
  return { scheme: scheme.toLowerCase(), host, target: rest.startsWith("/") ? rest : `/${rest}` };
}
