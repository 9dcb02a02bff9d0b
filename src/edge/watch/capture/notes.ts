/** The texts that a connection's records share: what the connection is, and how its requests were decided. */
import { TextPart } from "../../../capture/format/byte-writer.ts";
import { connectionText, decisionText, stepText } from "../../../capture/format/facts.ts";
import type { DecisionFacts } from "../../../capture/format/facts.ts";
import { ConnectionPart } from "../../../capture/format/record-writer.ts";
import { codeOf, outcomeOf } from "../../../routing/planes/edge-questions.ts";
import type { ConnectionFacts } from "../../../traffic/connection-facts.ts";
import type { Visitor } from "../../../traffic/visitor.ts";
import type { Step } from "../../../traffic/step.ts";
import type { FinishedExchange } from "../../http/http-context.ts";
import type { NotedRule } from "./capture-rules.ts";

/** The place of an edge among all edges of the cluster. */
export interface CapturePlace {
  readonly nodeId: string;
  /** Number of the edge thread of the node. */
  readonly edge: number;
}

export interface Notes {
  readonly connection: ConnectionPart;
  readonly decision: TextPart;
}

/** Maximum number of decisions that connections share, and of their characters: clients choose parts of the texts. */
const maxDecisions = 10_000;
const maxDecisionLength = 4 * 1024 * 1024;
/** Maximum number of clients that a proxy names on one connection. */
const maxClients = 100;

/** Returns the function that finds the texts of an exchange. Most exchanges have those of the connection's previous one. */
export function makeNotes(): (exchange: FinishedExchange, rule: NotedRule, place: CapturePlace) => Notes {
  const decisions = new Map<string, TextPart>();
  let length = 0;
  /** Steps that do not depend on the request live long. */
  const steps = new WeakMap<Step, string>();
  const textOf = (step: Step): string => {
    let text = steps.get(step);
    if (text === undefined) steps.set(step, (text = stepText(step)));
    return text;
  };
  const partOf = (text: string): TextPart => {
    let part = decisions.get(text);
    if (part !== undefined) return part;
    if (decisions.size >= maxDecisions || length + text.length > maxDecisionLength) {
      decisions.clear();
      length = 0;
    }
    length += text.length;
    decisions.set(text, (part = new TextPart(text)));
    return part;
  };
  return (exchange, rule, place) => {
    const { shared } = exchange;
    const { noted } = shared;
    let last: LastNotes;
    if (noted instanceof LastNotes && noted.decisions === decisions) {
      last = noted;
      last.from(exchange.connection);
    } else shared.noted = last = new LastNotes(exchange.connection, decisions);
    if (last.isDecidedAs(exchange, rule, place)) return last;
    if (last.rule !== rule || last.accountId !== exchange.accountId) last.forget();
    last.decided(exchange, rule, place);
    last.decision = partOf(decisionText(factsOf(exchange, rule.note, place), exchange.steps.map(textOf)));
    return last;
  };
}

/** The last captured exchange of a connection. */
class LastNotes implements Notes {
  connection: ConnectionPart;
  decision = new TextPart("");
  rule: NotedRule | undefined;
  accountId: string | undefined;
  /** Identifies the capture to whose writer the parts belong. */
  readonly decisions: object;
  #facts: ConnectionFacts;
  /** By source, if a proxy names the clients of the requests. */
  #clients: Map<string, ConnectionPart> | undefined;
  #nodeId = "";
  #siteId: string | undefined;
  #routeId: string | undefined;
  #revision = -1;
  #method = "";
  #scheme = "";
  #httpVersion = "";
  #authority = "";
  #websocket = false;
  #upgrade = "";
  #login: Visitor | undefined;
  #tunnel: FinishedExchange["tunnel"];
  #status = 0;
  #upstreamStatus = 0;
  #cutShort = false;
  #steps: readonly Step[] = [];

  constructor(facts: ConnectionFacts, decisions: object) {
    this.decisions = decisions;
    this.#facts = facts;
    this.connection = new ConnectionPart(connectionText(describe(facts)));
  }

  from(facts: ConnectionFacts): void {
    if (facts === this.#facts) return;
    this.#facts = facts;
    const clients = (this.#clients ??= new Map());
    const key = `${facts.source} ${facts.sourcePort}`;
    let part = clients.get(key);
    if (part === undefined) {
      if (clients.size >= maxClients) clients.clear();
      clients.set(key, (part = new ConnectionPart(connectionText(describe(facts)))));
    }
    this.connection = part;
  }

  /** The next record is not compared with earlier ones. */
  forget(): void {
    this.connection.forget();
    if (this.#clients !== undefined) for (const part of this.#clients.values()) part.forget();
  }

  isDecidedAs(exchange: FinishedExchange, rule: NotedRule, { nodeId }: CapturePlace): boolean {
    const { request, steps } = exchange;
    const known = this.#steps;
    if (
      rule !== this.rule ||
      steps.length !== known.length ||
      exchange.status !== this.#status ||
      exchange.method !== this.#method ||
      exchange.routeId !== this.#routeId ||
      exchange.siteId !== this.#siteId ||
      exchange.revision !== this.#revision ||
      exchange.tunnel !== this.#tunnel ||
      exchange.login !== this.#login ||
      exchange.cutShort !== this.#cutShort ||
      exchange.accountId !== this.accountId ||
      (exchange.responded?.status ?? 0) !== this.#upstreamStatus ||
      request.hostField !== this.#authority ||
      request.scheme !== this.#scheme ||
      request.httpVersion !== this.#httpVersion ||
      request.websocket !== this.#websocket ||
      request.upgrade !== this.#upgrade ||
      nodeId !== this.#nodeId
    )
      return false;
    for (let at = 0; at < steps.length; at += 1) if (steps[at] !== known[at]) return false;
    return true;
  }

  decided(exchange: FinishedExchange, rule: NotedRule, { nodeId }: CapturePlace): void {
    const { request } = exchange;
    this.rule = rule;
    this.accountId = exchange.accountId;
    this.#nodeId = nodeId;
    this.#siteId = exchange.siteId;
    this.#routeId = exchange.routeId;
    this.#revision = exchange.revision;
    this.#method = exchange.method;
    this.#scheme = request.scheme;
    this.#httpVersion = request.httpVersion;
    this.#authority = request.hostField;
    this.#websocket = request.websocket;
    this.#upgrade = request.upgrade;
    this.#login = exchange.login;
    this.#tunnel = exchange.tunnel;
    this.#status = exchange.status;
    this.#upstreamStatus = exchange.responded?.status ?? 0;
    this.#cutShort = exchange.cutShort;
    this.#steps = exchange.steps;
  }
}

function factsOf(exchange: FinishedExchange, note: string, { nodeId, edge }: CapturePlace): DecisionFacts {
  const { request, steps, status, cutShort } = exchange;
  const last = steps.at(-1);
  return {
    note,
    nodeId,
    edge,
    accountId: exchange.accountId ?? "",
    siteId: exchange.siteId ?? "",
    routeId: exchange.routeId,
    revision: exchange.revision,
    request: {
      method: exchange.method,
      scheme: request.scheme,
      httpVersion: request.httpVersion,
      authority: request.hostField,
      websocket: request.websocket,
      upgrade: request.upgrade,
    },
    visitor: exchange.login && visitorOf(exchange.login),
    decision: {
      outcome: cutShort ? "failed" : outcomeOf(last, last?.answer, status),
      status,
      errorCode: codeOf(last?.answer),
      backendId: steps.findLast(({ by, outcome }) => by === "backend" && outcome !== "skipped")?.decidedBy?.id,
      tunnel: exchange.tunnel,
    },
    upstreamStatus: exchange.responded?.status ?? 0,
  };
}

function describe(facts: ConnectionFacts): Parameters<typeof connectionText>[0] {
  const { tls, hello } = facts;
  return {
    source: facts.source,
    sourcePort: facts.sourcePort,
    localAddress: facts.local.localAddress,
    localPort: facts.localPort,
    startedAt: facts.startedAt,
    tls: tls && {
      version: tls.version,
      cipher: tls.cipher,
      serverName: tls.serverName,
      alpn: tls.alpn ?? "",
      offeredAlpn: hello?.alpn ?? [],
      ja4: hello?.ja4 ?? "",
      clientCertificate: tls.clientCertificate,
    },
  };
}

function visitorOf(visitor: Visitor): DecisionFacts["visitor"] {
  return {
    module: visitor.module,
    clientId: visitor.clientId,
    userId: visitor.session?.userId ?? visitor.subject,
    sessionId: visitor.session?.id ?? "",
    email: visitor.email,
    emailVerified: visitor.emailVerified,
    name: visitor.name,
    groups: visitor.groups ?? [],
  };
}
