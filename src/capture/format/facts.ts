/** The facts that the records of one connection, or of one place and decision, share. Each is one text. */
import type { StepReport } from "../../routing/planes/edge-questions.ts";
import type { CapturedRequest } from "../captured-request.ts";

export type ConnectionFacts = CapturedRequest["connection"];

/** What decided, and how, without what differs between the requests of a client. */
export interface DecisionFacts {
  /** A text for the reader of the record. */
  readonly note: string;
  readonly nodeId: string;
  readonly edge: number;
  readonly accountId: string;
  readonly siteId: string;
  readonly routeId: string | undefined;
  readonly revision: number;
  readonly request: Pick<
    CapturedRequest["request"],
    "method" | "scheme" | "httpVersion" | "authority" | "websocket" | "upgrade"
  >;
  readonly visitor: CapturedRequest["visitor"];
  readonly decision: Omit<CapturedRequest["decision"], "steps">;
  /** 0 if no upstream responded. */
  readonly upstreamStatus: number;
}

export function connectionText(connection: ConnectionFacts): string {
  const { tls } = connection;
  const clientCertificate = tls?.clientCertificate?.toString("base64");
  return JSON.stringify({ ...connection, tls: tls && { ...tls, clientCertificate } });
}

export function readConnection(text: string): ConnectionFacts {
  const { source, sourcePort, localAddress, localPort, startedAt, tls } = JSON.parse(text) as Omit<
    ConnectionFacts,
    "tls"
  > & {
    readonly tls?: Omit<NonNullable<ConnectionFacts["tls"]>, "clientCertificate"> & { clientCertificate?: string };
  };
  const certificate = tls?.clientCertificate;
  const clientCertificate = certificate === undefined ? undefined : Buffer.from(certificate, "base64");
  return { source, sourcePort, localAddress, localPort, startedAt, tls: tls && { ...tls, clientCertificate } };
}

/** A step may be given with its answer, which is not part of the report. */
export function stepText({ by, outcome, reason, decidedBy, rule }: StepReport): string {
  return JSON.stringify({ by, outcome, reason, ...(decidedBy && { decidedBy }), ...(rule && { rule }) });
}

/** @param steps the texts of the steps */
export function decisionText(facts: DecisionFacts, steps: readonly string[]): string {
  return `${JSON.stringify(facts)}\n[${steps.join(",")}]`;
}

export interface ReadDecision extends Omit<DecisionFacts, "decision"> {
  readonly decision: CapturedRequest["decision"];
}

export function readDecision(text: string): ReadDecision {
  const end = text.indexOf("\n");
  const facts = JSON.parse(text.slice(0, end)) as DecisionFacts;
  const steps = JSON.parse(text.slice(end)) as readonly StepReport[];
  const { outcome, status, errorCode, backendId, tunnel } = facts.decision;
  const { routeId, visitor } = facts;
  return { ...facts, routeId, visitor, decision: { steps, outcome, status, errorCode, backendId, tunnel } };
}

/** Returns the account and the note, which is all that a writer needs. */
export function ownerOf(text: string): Pick<DecisionFacts, "accountId" | "note"> {
  return JSON.parse(text.slice(0, text.indexOf("\n"))) as DecisionFacts;
}
