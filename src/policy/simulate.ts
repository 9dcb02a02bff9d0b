/**
 * Simulates a policy on described requests and connections, without sockets: the effect of its rules, and the result.
 */
import type { BodyStage } from "../traffic/body-stage.ts";
import { keysOf } from "../jose/key-set.ts";
import type { KeySets } from "../jose/key-sets.ts";
import { canonicalPath } from "../lib/canonical-path.ts";
import { encodeCanonicalPath } from "../lib/encoded-path.ts";
import { withoutDotSegments } from "../lib/spelled-path.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { Refusal, catalogue } from "../lib/errors.ts";
import type { InternalAddress } from "../lib/internal-names.ts";
import type { JsonObject } from "../lib/json.ts";
import { nameOf, siblingOf } from "../lib/plain-names.ts";
import type { InternalCalls } from "../traffic/http-calls.ts";
import type { Exchange, RequestHead, ResponseHead } from "../traffic/exchange.ts";
import type { ConnectionFacts } from "../traffic/connection-facts.ts";
import { HeaderList } from "../traffic/header-list.ts";
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { DescribedVisitor } from "../traffic/visitor.ts";
import type { Answer, Step } from "../traffic/step.ts";
import type { CompiledPolicy } from "./compiled-policy.ts";
import type { Layer } from "./language/action.ts";
import { defaultPolicyServices } from "./language/policy-context.ts";
import type { LogEntry } from "./language/policy-context.ts";
import { policyHooks } from "./hooks.ts";
import { openOutside } from "./parts/outside.ts";
import { makeSimulatedLogin } from "./simulated-login.ts";
import { throughStages } from "../traffic/staged-body.ts";

/** The environment in which the policy runs. */
export interface SimulatedPlace {
  readonly layer: Layer;
  /** Server name that a TLS client sends. */
  readonly host: string;
  /** Port of the listener. */
  readonly port: number;
  /** Values by vault and name. */
  readonly secrets: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** JSON Web Key Sets by URL. */
  readonly keySets: Readonly<Record<string, JsonObject>>;
}

/** The environment of one request or connection. */
export interface SimulatedWorld {
  /** Milliseconds since 1970; never earlier than the previous one. */
  readonly nowMs: number;
  readonly client: string;
  /**
   * Online internal endpoints and their responses: HTTP endpoints by name, see `nameOf`, others by
   * `scheme://host:port`.
   */
  readonly online: ReadonlyMap<string, SimulatedAnswer>;
  /** Result of `rand.double()`. */
  readonly random: number;
}

export interface SimulatedRequest extends SimulatedWorld {
  readonly method: string;
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderPairs;
  readonly body: string;
  /** The logged-in visitor; undefined if there is none. */
  readonly visitor: DescribedVisitor | undefined;
  /** Response of the upstream. */
  readonly answer: SimulatedAnswer;
}

export interface SimulatedAnswer {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: string;
}

export interface Simulated {
  /** 0: the connection was dropped. */
  readonly status: number;
  readonly headers: HeaderPairs;
  /** The body that the client would receive; undefined for a page of the edge's own. */
  readonly body: string | undefined;
  /** The request that the upstream would receive; undefined if it is not reached. */
  readonly upstream: { readonly target: string; readonly headers: HeaderPairs; readonly body: string } | undefined;
  /** The internal endpoint that receives the request instead. */
  readonly forwardedTo: string | undefined;
  readonly steps: readonly Step[];
  readonly logs: readonly LogEntry[];
}

export interface SimulatedConnection {
  readonly isClosed: boolean;
  /** The internal endpoint that receives the connection instead of the upstream. */
  readonly forwardedTo: string | undefined;
  readonly steps: readonly Step[];
  readonly logs: readonly LogEntry[];
}

/** One policy, with the state of its actions. */
export interface Simulation {
  /** @param isDry counters do not change, and steps contain the values that decided */
  request(given: SimulatedRequest, isDry?: boolean): Promise<Simulated>;
  connection(given: SimulatedWorld, isDry?: boolean): Promise<SimulatedConnection>;
}

/** Throws if the policy cannot be attached: a simulation has no IP policies and authorities of an account. */
export function startSimulation(policy: CompiledPolicy, place: SimulatedPlace): Simulation {
  let world: SimulatedWorld = { nowMs: 0, client: "", online: new Map(), random: 0 };
  const clock: Clock = { ...systemClock, now: () => world.nowMs, monotonic: () => world.nowMs };
  const inside: InternalCalls = { send: ({ url }) => answerInside(url, world.online) };
  const { calls } = openOutside({ clock, allowLocal: false, ca: undefined, hosts: [], inside });
  const none = (what: string) => (id: string) => {
    throw new Error(`find ${what} "${id}": objects of accounts are not available here`);
  };
  const keySets = keySetsAmong(place.keySets);
  const hooks = policyHooks(policy, {
    accountId: "ac_test",
    ownerId: "edghtsrt_test",
    endpoint: { id: "ep_test", protocol: place.layer === "http" ? "https" : place.layer },
    clock,
    services: {
      ...defaultPolicyServices,
      random: () => world.random,
      internalEndpoint: (_account, name) => onlineAt(world.online, name) !== undefined,
      internalConnection: (_account, address) => world.online.has(urlOf(address)),
      secret: (_account, vault, name) => ownText(ownObject(place.secrets, vault), name),
      keySets: () => keySets,
      calls,
    },
    keep: (_key, make) => make(),
    ipPolicy: none("IP policy"),
    authority: none("certificate authority"),
    login: makeSimulatedLogin,
  });
  return {
    async request(given, isDry = false) {
      world = given;
      return await requestOn(hooks, exchangeOf(given, place), given, isDry);
    },
    async connection(given, isDry = false) {
      world = given;
      const facts = factsOf(given, place, undefined);
      const decided = await (isDry ? hooks.rehearseOpened : hooks.opened)?.({ facts });
      const { closes = false, forwardTo, steps = [], logs = [] } = decided ?? {};
      return { isClosed: closes, forwardedTo: forwardTo && urlOf(forwardTo), steps, logs };
    },
  };
}

type Hooks = ReturnType<typeof policyHooks>;

async function requestOn(
  hooks: Hooks,
  exchange: Exchange,
  request: SimulatedRequest,
  isDry: boolean,
): Promise<Simulated> {
  const step = await (isDry ? hooks.rehearse : hooks.request)?.(exchange);
  if (step) exchange.steps.push(step);
  if (step?.answer) return summarize(step.drops === true ? undefined : step.answer, exchange);
  const { rewritten, target, headers } = exchange.request;
  const forwardedTo = step?.forwardTo;
  const body = (await exchange.body(Number.MAX_SAFE_INTEGER)).toString();
  const upstream =
    forwardedTo === undefined
      ? { target: rewritten ?? spellTarget(target), headers: headers.entries(), body }
      : undefined;
  const answer = (forwardedTo === undefined ? undefined : onlineAt(request.online, forwardedTo)) ?? request.answer;
  const stages: BodyStage[] = [];
  let bytes: Buffer = Buffer.from(answer.body);
  const response: ResponseHead = {
    status: answer.status,
    headers: new HeaderList(answer.headers),
    body: (maxBytes) => limitBody(bytes, maxBytes),
    replaceBody: (replaced) => void (bytes = replaced),
    transform: (stage) => void stages.push(stage),
  };
  // The same exchange, because the results of the request's rules are found by it.
  const answered = Object.assign(exchange, { response });
  const after = await (isDry ? hooks.rehearseResponse : hooks.response)?.(answered);
  if (after) exchange.steps.push(after);
  const sent = { upstream, forwardedTo };
  if (after?.answer) return { ...summarize(after.answer, exchange), ...sent };
  // Frames the response like an edge, which sends a length that is known in advance.
  if (stages.length === 0) response.headers.set("content-length", String(bytes.length));
  else response.headers.delete("content-length");
  const shown = await throughStages(bytes, stages);
  const { steps, logs = [] } = exchange;
  return { status: response.status, headers: response.headers.entries(), body: shown.toString(), ...sent, steps, logs };
}

function spellTarget(target: string): string {
  const mark = target.indexOf("?");
  return mark < 0 ? withoutDotSegments(target) : withoutDotSegments(target.slice(0, mark)) + target.slice(mark);
}

function limitBody(body: Buffer, maxBytes: number): Promise<Buffer> {
  return body.length > maxBytes ? Promise.reject(new Refusal("payload_too_large")) : Promise.resolve(body);
}

function summarize(answer: Answer | undefined, { steps, logs = [] }: Exchange): Simulated {
  const rest = { upstream: undefined, forwardedTo: undefined, steps, logs };
  if (answer === undefined) return { status: 0, headers: [], body: "", ...rest };
  const headers = Object.entries(answer.headers ?? {}).flatMap(([name, value]) => toPairs(name, value));
  if ("error" in answer) return { status: catalogue[answer.error].status, headers, body: undefined, ...rest };
  return { status: answer.status, headers, body: Buffer.from(answer.body as string).toString(), ...rest };
}

function toPairs(name: string, value: string | readonly string[]): HeaderPairs {
  return [value].flat().map((one) => [name.toLowerCase(), one] as const);
}

function factsOf(
  { client, nowMs }: SimulatedWorld,
  { layer, host, port }: SimulatedPlace,
  tls: ConnectionFacts["tls"],
): ConnectionFacts {
  const hello = layer === "tls" ? { serverName: host, alpn: [] } : undefined;
  const own = { source: client, sourcePort: 40_000, local: { localAddress: "192.0.2.1" }, localPort: port };
  return { ...own, startedAt: nowMs, tls, hello };
}

function exchangeOf(simulated: SimulatedRequest, place: SimulatedPlace): Exchange {
  const { method, host, target, headers, body } = simulated;
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  const fields = new HeaderList(headers);
  if (!fields.has("host")) fields.set("host", host);
  const request: RequestHead = {
    httpVersion: "2",
    method,
    path: canonicalPath(path) ?? encodeCanonicalPath(path) ?? path,
    query: question < 0 ? "" : target.slice(question),
    target,
    host,
    scheme: "https",
    websocket: false,
    headers: fields,
  };
  let bytes: Buffer = Buffer.from(body);
  const tls = { serverName: host, version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", clientCertificate: undefined };
  return {
    id: "req_test",
    connection: factsOf(simulated, place, tls),
    request,
    receivedAt: simulated.nowMs,
    bodyReceivedAt: simulated.nowMs,
    response: undefined,
    steps: [],
    abandoned: false,
    rehearsedAs: simulated.visitor,
    body: (maxBytes) => limitBody(bytes, maxBytes),
    replaceBody: (replaced) => void (bytes = replaced),
  };
}

/** Finds an endpoint by its name, or by the name with the other scheme. */
function onlineAt(online: SimulatedWorld["online"], name: string): SimulatedAnswer | undefined {
  return online.get(name) ?? online.get(siblingOf(name));
}

async function answerInside(url: URL, online: SimulatedWorld["online"]) {
  const answer = onlineAt(online, nameOf(url.protocol === "http:" ? "http" : "https", url.hostname));
  if (!answer) throw new Error(`no internal endpoint is at "${url.hostname}"`);
  const headers: Record<string, string[]> = Object.create(null) as Record<string, string[]>;
  for (const [name, value] of answer.headers) (headers[name] ??= []).push(value);
  return { status: answer.status, headers, body: Buffer.from(answer.body), address: "" };
}

function keySetsAmong(keySets: SimulatedPlace["keySets"]): KeySets {
  const sets = new Map(Object.entries(keySets).map(([url, set]) => [url, keysOf(set)]));
  return { keysFor: (url) => Promise.resolve(sets.get(url)), has: () => true };
}

/** Returns a URL such as `tcp://db.internal:5432`. */
export function urlOf({ scheme, host, port }: InternalAddress): string {
  return `${scheme}://${host}:${port}`;
}

function ownObject<T>(from: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(from, name) ? from[name] : undefined;
}

function ownText(from: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return from && ownObject(from, name);
}
