import type { CaptureLine, CapturePage, CapturePageQuery } from "../../capture/capture-batch.ts";
import type { AddressFacts } from "../../geo/address-book.ts";
import { joinNewest } from "../../lib/collections/join-newest.ts";
import { timeOfId } from "../../lib/traffic-ids.ts";
import type { EdgeAnswer, EdgeQuestion, ExchangeOutcome, NodeMembership } from "../../routing/planes/edge-questions.ts";
import type { AgentRegistry } from "../agents/registry.ts";
import type { EdgeExplainer } from "./edge-explainer.ts";
import type { OwnSeries } from "./own-series.ts";
import type { Reached } from "./reached.ts";
import type { AllTraces } from "../watch/observers.ts";

/** Returns a page of captured requests of this node. */
export type CapturedPages = (query: CapturePageQuery) => Promise<CapturePage | undefined>;

async function findCaptured(
  captured: CapturedPages | undefined,
  accountId: string,
  id: string,
  keyId: string | undefined,
): Promise<CapturePage | undefined> {
  const receivedAt = timeOfId(id);
  if (receivedAt === undefined || captured === undefined) return undefined;
  return await captured({ accountId, keyId, limit: 1, since: receivedAt, until: receivedAt + 1, filter: { id } });
}

export interface RepliesOptions {
  readonly traces: AllTraces;
  readonly explainer: EdgeExplainer;
  readonly reached: Reached;
  readonly standing: () => NodeMembership;
  /** Shows the countries of sources. */
  readonly addresses: Pick<AddressFacts, "known">;
  readonly series: Pick<OwnSeries, "ask">;
  readonly captured: CapturedPages | undefined;
  readonly agentEndpoints: AgentRegistry["endpointsOf"];
  /** Reads the captured requests of this node for another node. */
  readonly blocks: CaptureLine["askBlocks"] | undefined;
}

/** Returns the edge's replies to questions of the control plane. */
export function makeReplies({
  traces,
  explainer,
  reached,
  standing,
  addresses,
  series,
  captured,
  agentEndpoints,
  blocks,
}: RepliesOptions): (question: EdgeQuestion) => Promise<EdgeAnswer> {
  const { requests, connections } = traces;
  const located = <T extends { readonly source: string }>(found: readonly T[]): readonly T[] =>
    found.map((one) => ({ ...one, sourceCountry: addresses.known(one.source)?.countryCode }));
  return async (question) => {
    switch (question.name) {
      case "standing":
        return { name: "standing", standing: standing() };
      case "reached":
        return { name: "reached", isReached: await reached.wait(question, question.timeoutMs) };
      case "request": {
        const { accountId, id, keyId } = question;
        const page = await findCaptured(captured, accountId, id, keyId);
        const found = page?.found[0] ?? requests.find(accountId, id);
        if (found) return { name: "requests", requests: located([found]), more: false };
        const missing = page?.missing;
        return missing ? { name: "requests", requests: [], more: false, missing } : { name: "unknown" };
      }
      case "requests": {
        const { accountId, limit, beforeId, since, until, outcome, text, filter, whole, keyId } = question;
        const recent = requests.list(accountId, limit, beforeId, question);
        const wanted = { ...filter, outcome: outcome as ExchangeOutcome | undefined, text };
        const page = await captured?.({ accountId, limit, beforeId, since, until, filter: wanted, whole, keyId });
        const { found, more } = joinNewest(limit, [recent, ...(page ? [page] : [])]);
        return { name: "requests", requests: located(found), more, missing: page?.missing };
      }
      case "connection": {
        const found = connections.find(question.accountId, question.id);
        return found ? { name: "connections", connections: located([found]), more: false } : { name: "unknown" };
      }
      case "connections": {
        const { found, more } = connections.list(question.accountId, question.limit, question.beforeId, question);
        return { name: "connections", connections: located(found), more };
      }
      case "series":
        return await series.ask(question);
      case "agent_endpoints":
        return { name: "agent_endpoints", endpoints: agentEndpoints(question.accountId) };
      case "captured_blocks": {
        const answer = await blocks?.(question.question);
        return answer ? { name: "captured_blocks", answer } : { name: "unknown" };
      }
      case "explain_request":
        return await explainer.request(question);
      case "explain_connection":
        return await explainer.connection(question);
    }
  };
}
