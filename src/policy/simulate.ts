/** A policy on a request that is described in a test, without sockets: what its rules do, and what comes of it. */
import { canonicalPath } from "../lib/canonical-path.ts";
import { Refusal, catalogue } from "../lib/errors.ts";
import { systemClock } from "../lib/clock.ts";
import type { Exchange, RequestHead, ResponseHead } from "../traffic/exchange.ts";
import { HeaderList } from "../traffic/header-list.ts";
import type { HeaderPairs } from "../traffic/header-list.ts";
import type { Answer, Step } from "../traffic/step.ts";
import type { CompiledPolicy } from "./compiled.ts";
import { defaultPolicyServices } from "./language/context.ts";
import { policyHooks } from "./hooks.ts";

export interface SimulatedRequest {
  readonly method: string;
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: HeaderPairs;
  readonly body: string;
  readonly client: string;
  /** Internal endpoints that are online, by host. */
  readonly online: readonly string[];
  /** What `rand.double()` gives. */
  readonly random: number;
  /** What the upstream would answer. */
  readonly answer: { readonly status: number; readonly headers: HeaderPairs; readonly body: string };
}

export interface Simulated {
  /** 0: the connection was dropped. */
  readonly status: number;
  readonly headers: HeaderPairs;
  /** Undefined where it is not this policy's alone to say: of an error page, or where an internal endpoint answers. */
  readonly body: string | undefined;
  /** What the upstream would see; undefined when it is not reached. */
  readonly upstream: { readonly target: string; readonly headers: HeaderPairs } | undefined;
  /** The internal endpoint that it goes to instead. */
  readonly forwardedTo: string | undefined;
  readonly steps: readonly Step[];
}

/** Rejects when the policy cannot be attached: tests have no IP policies of an account. */
export async function simulate(policy: CompiledPolicy, given: SimulatedRequest): Promise<Simulated> {
  const hooks = policyHooks(policy, {
    accountId: "ac_test",
    ownerId: "edghtsrt_test",
    endpoint: { id: "ep_test", protocol: "https" },
    clock: systemClock,
    services: {
      ...defaultPolicyServices,
      random: () => given.random,
      internalEndpoint: (_account, host) => given.online.includes(host),
    },
    keep: (_key, make) => make(),
    ipPolicy: (id) => {
      throw new Error(`find IP policy "${id}": tests have none`);
    },
    authority: (id) => {
      throw new Error(`find certificate authority "${id}": tests have none`);
    },
  });
  const exchange = exchangeOf(given);
  const step = await hooks.request?.(exchange);
  if (step) exchange.steps.push(step);
  if (step?.answer) return ended(step.drops === true ? undefined : step.answer, exchange);
  const { path, query, headers } = exchange.request;
  const upstream = { target: path + query, headers: headers.entries() };
  let body: Buffer = Buffer.from(given.answer.body);
  const response: ResponseHead = {
    status: given.answer.status,
    headers: new HeaderList(given.answer.headers),
    body: (maxBytes) => bounded(body, maxBytes),
    replaceBody: (bytes) => void (body = bytes),
    transform: () => {},
  };
  const answered = { ...exchange, response };
  const after = await hooks.response?.(answered);
  if (after) exchange.steps.push(after);
  const forwardedTo = step?.forwardTo;
  const sent = { upstream: forwardedTo === undefined ? upstream : undefined, forwardedTo };
  if (after?.answer) return { ...ended(after.answer, exchange), ...sent };
  return {
    status: response.status,
    headers: response.headers.entries(),
    body: forwardedTo === undefined ? body.toString() : undefined,
    ...sent,
    steps: exchange.steps,
  };
}

function bounded(body: Buffer, maxBytes: number): Promise<Buffer> {
  return body.length > maxBytes ? Promise.reject(new Refusal("payload_too_large")) : Promise.resolve(body);
}

function ended(answer: Answer | undefined, { steps }: Exchange): Simulated {
  const rest = { upstream: undefined, forwardedTo: undefined, steps };
  if (answer === undefined) return { status: 0, headers: [], body: "", ...rest };
  if ("error" in answer) {
    const headers = Object.entries(answer.headers ?? {}).flatMap(([name, value]) => pairs(name, value));
    return { status: catalogue[answer.error].status, headers, body: undefined, ...rest };
  }
  const headers = Object.entries(answer.headers).flatMap(([name, value]) => pairs(name, value));
  return { status: answer.status, headers, body: Buffer.from(answer.body as string).toString(), ...rest };
}

function pairs(name: string, value: string | readonly string[]): HeaderPairs {
  return [value].flat().map((one) => [name.toLowerCase(), one] as const);
}

function exchangeOf({ method, host, target, headers, body, client }: SimulatedRequest): Exchange {
  const question = target.indexOf("?");
  const path = question < 0 ? target : target.slice(0, question);
  const fields = new HeaderList(headers);
  if (!fields.has("host")) fields.set("host", host);
  const request: RequestHead = {
    httpVersion: "2",
    method,
    path: canonicalPath(path) ?? path,
    query: question < 0 ? "" : target.slice(question),
    target,
    host,
    scheme: "https",
    websocket: false,
    headers: fields,
  };
  let bytes: Buffer = Buffer.from(body);
  return {
    id: "req_test",
    connection: {
      source: client,
      sourcePort: 40_000,
      localAddress: "192.0.2.1",
      localPort: 443,
      startedAt: systemClock.now(),
      tls: { serverName: host, version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", clientCertificate: undefined },
    },
    request,
    receivedAt: systemClock.now(),
    response: undefined,
    steps: [],
    abandoned: false,
    body: (maxBytes) => bounded(bytes, maxBytes),
    replaceBody: (given) => void (bytes = given),
  };
}
