/** Dry runs: what this edge would do with a described request or connection, said by the code that would do it. */
import type { ConnectionFacts } from "../../traffic/exchange.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import { catalogue } from "../../lib/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { readRequestHead } from "../../http1/read-request.ts";
import type { ConnectionSite, RoutingTable } from "../../routing/sites/compiled.ts";
import { explainConnection, explainRequest } from "../../routing/explain.ts";
import type { Explainer, Explanation } from "../../routing/explain.ts";
import { codeOf, outcomeOf, stepReports } from "../../routing/planes/questions.ts";
import type {
  EdgeAnswer,
  EdgeQuestion,
  ExplanationReport,
  RequestDescription,
} from "../../routing/planes/questions.ts";
import { refused, unknownHost, unreadableForwarding } from "../../routing/sites/refusals.ts";
import type { Picked } from "../upstreams/pick.ts";
import type { TunnelUpstreams } from "../upstreams/request-upstreams.ts";
import { challengeAnswer } from "../http/challenge-answer.ts";
import { checkHead } from "../http/check-head.ts";
import { ClientConnection } from "../http/client-connection.ts";
import type { HttpContext, SiteLookup } from "../http/context.ts";
import { stripRequest } from "../http/forwarding.ts";
import { receiveHttp1 } from "../http/http1-request.ts";
import { misdirected } from "../http/match-route.ts";
import type { ReceivedRequest } from "../http/received-request.ts";

export interface ExplainerOptions {
  readonly table: RoutingTable;
  readonly siteFor: SiteLookup;
  readonly upstreams: Pick<TunnelUpstreams, "foresee">;
  readonly context: HttpContext;
  readonly clock: Clock;
  /** Where HTTPS is really listened on. */
  readonly listenPort: () => number;
}

type Question<N extends EdgeQuestion["name"]> = Extract<EdgeQuestion, { name: N }>;

export interface EdgeExplainer {
  request(question: Question<"explain_request">): Promise<EdgeAnswer>;
  connection(question: Question<"explain_connection">): Promise<EdgeAnswer>;
}

/** A described client has no port of its own; this one is never an address's own (RFC 6335 §6). */
const describedPort = 1024;
const unknown: EdgeAnswer = Object.freeze({ name: "unknown" as const });

/** Nothing that is asked of it leaves a trace. */
export function makeEdgeExplainer(options: ExplainerOptions): EdgeExplainer {
  const { table, siteFor, upstreams, context, clock } = options;

  /** Notes in `into` where the plan would lead. */
  const explaining = (into: { picked?: Picked }): Explainer => ({
    table,
    siteFor,
    async foresee(plan, steps): Promise<Answer | undefined> {
      const picked = await upstreams.foresee(plan, steps);
      into.picked = picked;
      return "session" in picked || "host" in picked ? undefined : picked;
    },
  });
  const report = (
    explanation: Omit<Explanation, "upstream">,
    picked: Picked | undefined,
    requestHeaders: HeaderPairs,
  ): EdgeAnswer => {
    const { edge, route, near, steps, answer, response } = explanation;
    const status = answer && ("error" in answer ? catalogue[answer.error].status : answer.status);
    const tunnel = answer === undefined && picked !== undefined && "session" in picked ? picked : undefined;
    const address = answer === undefined && picked !== undefined && "host" in picked ? picked : undefined;
    const told: ExplanationReport = {
      revision: table.revision,
      edge,
      route,
      near,
      steps: stepReports(steps),
      outcome: outcomeOf(steps.at(-1), answer, status ?? 0),
      status,
      errorCode: codeOf(answer),
      backend: steps.findLast(({ by, outcome }) => by === "backend" && outcome !== "skipped")?.decidedBy,
      tunnel: tunnel && { id: tunnel.id, sessionId: tunnel.session.id, forwardsTo: tunnel.forwardsTo },
      address: address && `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`,
      requestHeaders,
      response,
    };
    return { name: "explanation", explanation: told };
  };
  const ended = (edgeId: string, step: Step): EdgeAnswer => {
    const edge = table.object("https_edge", edgeId);
    const facts = edge && { kind: edge.kind, id: edge.id, revision: edge.revision };
    const none = { route: undefined, near: [], requestHeaders: [], response: undefined };
    return report({ ...none, edge: facts, steps: [step], answer: step.answer }, undefined, []);
  };
  const facts = (source: string, host: string): ConnectionFacts => ({
    source,
    sourcePort: describedPort,
    localAddress: "",
    localPort: options.listenPort(),
    startedAt: clock.now(),
    tls: { serverName: host, version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384", clientCertificate: undefined },
  });

  return {
    async request({ accountId, edgeId, request: described }) {
      if (table.object("https_edge", edgeId)?.account_id !== accountId) return unknown;
      const request = receive(described, context);
      if (typeof request === "string") return ended(edgeId, refused("bad_request", request));
      const { host, headers } = request;
      if (siteFor(host)?.id !== edgeId) return { name: "elsewhere", host };
      const client = new ClientConnection(facts(described.source, host), siteFor, context);
      const connection = client.factsOf(request);
      if (connection === "forwarding_unreadable") return ended(edgeId, unreadableForwarding);
      const wrong = checkHead(request, context.limits.maxBodyBytes);
      if (wrong) return ended(edgeId, wrong);
      const challenge = context.challengeBody?.(host, request.path);
      if (challenge !== undefined) return ended(edgeId, challengeAnswer(challenge));
      const site = client.site(host, request.port);
      if (site === "unknown_host") return ended(edgeId, unknownHost(host));
      if (typeof site === "string") return ended(edgeId, misdirected(site, request));
      const before = stripRequest(headers, client.trusted);
      const forwarded = client.forwarded(request, before);
      const into: { picked?: Picked } = {};
      const explanation = await explainRequest(explaining(into), {
        ...requestFacts(request),
        headers: headers.entries(),
        body: Buffer.from(described.body),
        connection,
        ...(described.response && { response: described.response }),
      });
      const leaving = explanation.answer ? [] : [...explanation.requestHeaders, ...pairs(forwarded)];
      return report(explanation, into.picked, leaving);
    },
    async connection({ accountId, kind, edgeId, source }) {
      const site = connectionSite(table, kind, edgeId);
      if (site?.accountId !== accountId) return unknown;
      const into: { picked?: Picked } = {};
      const explanation = await explainConnection(explaining(into), site, source);
      return report(
        { ...explanation, route: undefined, near: [], requestHeaders: [], response: undefined },
        into.picked,
        [],
      );
    },
  };
}

function connectionSite(table: RoutingTable, kind: "tls_edge" | "tcp_edge", id: string): ConnectionSite | undefined {
  if (kind === "tcp_edge") return table.tcpSite(id);
  const hostports = table.object(kind, id)?.doc["hostports"];
  for (const hostport of Array.isArray(hostports) ? (hostports as string[]) : []) {
    const site = table.tlsSite(hostport.slice(0, hostport.lastIndexOf(":")).toLowerCase());
    if (site?.id === id) return site;
  }
  return undefined;
}

/** The request as HTTP/1.1 would bring it, or why it could not be read. */
function receive(described: RequestDescription, { limits }: HttpContext): ReceivedRequest | string {
  const { method, target, host, headers, body } = described;
  const has = (name: string): boolean => headers.some(([one]) => one.toLowerCase() === name);
  const fields = [
    ...(has("host") ? [] : [["host", host] as const]),
    ...headers,
    ...(body === "" || has("content-length") || has("transfer-encoding")
      ? []
      : [["content-length", String(Buffer.byteLength(body))] as const]),
  ];
  // A line break would be read as the end of the line, and not as part of what was described.
  if ([method, target, ...fields.flat()].some((text) => /[\r\n]/.test(text))) return "a line break in the head";
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const head = readRequestHead(Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, "latin1"), 0, limits);
  if (head === undefined) return "an incomplete head";
  return "outcome" in head ? head.reason : receiveHttp1(head, "https");
}

function requestFacts({ method, scheme, httpVersion, host, target, path, websocket, upgrade }: ReceivedRequest) {
  return { method, scheme, httpVersion, host, target, path, websocket, upgrade };
}

/** The lines that the edge writes, but for the request id, which only a real request has. */
function pairs(lines: string): HeaderPairs {
  return lines
    .split("\r\n")
    .slice(0, -1)
    .map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 2)] as const);
}
