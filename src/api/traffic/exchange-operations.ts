/** Operations that get a captured request from the agent that served it, and replay it. */
import { createHash, randomUUID } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { ExchangeCommand } from "../../routing/planes/messages.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { EdgeQueries } from "../edges/queries.ts";
import { readOnce } from "../objects/page-query.ts";
import { idempotencyKey } from "../objects/preconditions.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";
import { exampleExchange, exampleReplay, exchangeSchema } from "./exchange-schema.ts";
import { readExchange } from "./read-exchange.ts";
import type { KeptExchange } from "./read-exchange.ts";

interface Asking {
  readonly liveObjects: Pick<LiveObjects, "get">;
  readonly queries: Pick<EdgeQueries, "ask" | "askAgent">;
  readonly log: Log;
}

export function exchangeOperations(asking: Asking): Operation[] {
  const shared = {
    needs: "exchanges",
    status: 200,
    replySchema: "Exchange",
    schemas: { Exchange: exchangeSchema },
  } as const;
  const refusals = [
    ...([
      "edge_silent",
      "command_unsupported",
      "command_failed",
      "command_timeout",
      "exchange_no_agent",
      "exchange_agent_gone",
    ] as const),
    ...(["exchange_unsupported", "exchange_not_kept", "exchange_management_off"] as const),
    ...(["exchange_forgotten", "exchange_busy"] as const),
  ];
  return [
    {
      ...shared,
      id: "getRequestExchange",
      method: "GET",
      takes: "nothing",
      path: "/requests/{id}/exchange",
      query: ["exchange_id"],
      summary:
        "Get the captured request from the agent that handled it: header fields and bodies of request and response, without credentials.",
      exampleReply: exampleExchange,
      refusals,
      run: (call) =>
        answerQuestion(call, asking, { name: "exchange", exchangeId: readOnce(call, "exchange_id") ?? "" }),
    },
    {
      ...shared,
      id: "replayRequest",
      verb: "command",
      method: "POST",
      takes: "anything",
      path: "/requests/{id}/replay",
      once: true,
      summary:
        "Make the agent that handled a request replay it, unchanged, directly to its service. Each `Idempotency-Key` replays it once.",
      exampleReply: exampleReplay,
      refusals: [...refusals, "replay_impossible", "replay_unreachable"],
      run: (call) => answerQuestion(call, asking, { name: "replay", replayId: replayIdOf(call) }),
    },
  ];
}

type CommandDetails = ExchangeCommand extends infer One
  ? One extends unknown
    ? Omit<One, "requestId" | "tunnelId">
    : never
  : never;

async function answerQuestion(
  call: Call,
  { liveObjects, queries, log }: Asking,
  asked: CommandDetails,
): Promise<Reply> {
  const { accountId, id: by } = call.principal;
  const requestId = call.parameters[0] as string;
  const { session, tunnelId } = await findServingAgent(call, requestId, { liveObjects, queries });
  // The log records who read the request, without its content.
  log.info("captured request read from an agent", {
    operation: call.operation.id,
    request: requestId,
    account: accountId,
    by,
    session: session.id,
  });
  const text = await queries.askAgent(session, { ...asked, requestId, tunnelId } as ExchangeCommand);
  const exchange = readExchange(text, asked.name);
  return { status: 200, body: JSON.stringify(renderExchange(exchange, requestId, session.id, call.baseUrl)) };
}

/** Throws `Refusal` if the request is not stored, or if no connected agent has served it. */
async function findServingAgent(
  call: Call,
  id: string,
  { liveObjects, queries }: Pick<Asking, "liveObjects" | "queries">,
): Promise<{ readonly session: StoredObject; readonly tunnelId: string }> {
  const { accountId } = call.principal;
  const answered = await queries.ask({ name: "request", accountId, id });
  const [trace] = answered.name === "requests" ? answered.requests : [];
  if (!trace) {
    throw new Refusal(
      "not_found",
      `${call.operation.id}: there is no stored request ${JSON.stringify(id.slice(0, 64))}`,
    );
  }
  if (!trace.tunnel) throw new Refusal("exchange_no_agent");
  const { id: tunnelId, sessionId } = trace.tunnel;
  const sessionNamed = (wanted: unknown): StoredObject | undefined =>
    typeof wanted === "string" ? liveObjects.get(accountId, resourceNamed("tunnel_session").name, wanted) : undefined;
  // If the agent reconnected with another session, the tunnel is in that session.
  const tunnel = liveObjects.get(accountId, resourceNamed("tunnel").name, tunnelId);
  const session = sessionNamed(tunnel?.doc["tunnel_session"]) ?? sessionNamed(sessionId);
  if (!session) throw new Refusal("exchange_agent_gone");
  return { session, tunnelId };
}

/** Returns the same id for calls of one account with the same idempotency key. */
function replayIdOf(call: Call): string {
  const key = idempotencyKey(call);
  if (key === undefined) return randomUUID();
  const named = JSON.stringify([call.principal.accountId, call.parameters[0], key]);
  return createHash("sha256").update(named).digest("hex");
}

function renderExchange(kept: KeptExchange, requestId: string, sessionId: string, baseUrl: string): object {
  const { id, replayOf, request, response } = kept;
  const whole = `${baseUrl}/requests/${requestId}/exchange`;
  const uriOf = (replayId: string): string => `${whole}?exchange_id=${replayId}`;
  return {
    request_id: requestId,
    exchange_id: id,
    uri: replayOf === undefined ? whole : uriOf(id),
    replay_of: replayOf ?? null,
    tunnel_session_id: sessionId,
    started_at: new Date(kept.startedAt).toISOString(),
    outcome: kept.outcome,
    duration_ms: kept.durationMs ?? null,
    timing: timingOf(kept),
    request: {
      method: request.method,
      target: request.target,
      protocol: request.protocol,
      headers: request.fields,
      body: request.body,
    },
    response: response
      ? {
          status_code: response.status,
          protocol: response.protocol,
          headers: response.fields,
          trailers: response.trailers,
          body: response.body,
        }
      : null,
    replays: kept.replays.map(({ id: replayId, startedAt, status }) => ({
      exchange_id: replayId,
      uri: uriOf(replayId),
      started_at: new Date(startedAt).toISOString(),
      status_code: status ?? null,
    })),
  };
}

/** The edge's wait minus the agent's is the time in the tunnel. */
function timingOf({ firstByteMs, connectedMs = 0, edgeMs, waitMs }: KeptExchange): object {
  const rest = (ms: number): number => Math.max(0, ms);
  return {
    edge_ms: edgeMs ?? null,
    tunnel_ms: waitMs === undefined || firstByteMs === undefined ? null : rest(waitMs - firstByteMs),
    connect_ms: firstByteMs === undefined ? null : connectedMs,
    upstream_ms: firstByteMs === undefined ? null : rest(firstByteMs - connectedMs),
  };
}
