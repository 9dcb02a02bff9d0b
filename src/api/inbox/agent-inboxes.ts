/**
 * Inboxes of agents: an HTTPS edge with the URL's host, which the server keeps while the agent is offline, and a labelled
 * tunnel of the agent behind it. The agent needs only its token, which the edge has checked.
 */
import { Socket } from "node:net";
import { agentInboxLabel } from "../../lib/agent-inbox-label.ts";
import { runUnattended } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import { IncomingMessage } from "../../lib/http.ts";
import type { JsonObject } from "../../lib/json.ts";
import { newId } from "../../lib/ids.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { httpsEdge } from "../../resources/https-edge.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { AgentInboxOutcome, AgentInboxQuestion, AgentInboxWebhook } from "../../routing/planes/inbox-questions.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { inboxName } from "../../traffic/parts/inbox-fields.ts";
import type { EdgeObserver } from "../edges/edges.ts";
import type { Operation } from "../operation/call.ts";
import type { Inboxes } from "./inboxes.ts";

export interface AgentInboxesOptions {
  readonly store: Store;
  readonly inboxes: Inboxes;
  /** Returns the API's operations, which check and store the new objects. Called after the API has started. */
  readonly operations: () => readonly Operation[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Marks edges that an agent's inbox has made, so that an inbox changes no other edge. */
const mark = '{"postern":"inbox of an agent"}';
/** A laptop handles one webhook after the other, so each route has one line. */
const inbox = { order_by: '"all"' };

/** An edge whose host has an inbox, with its routes. */
interface InboxEdge {
  readonly edgeId: string;
  readonly routes: readonly StoredObject[];
}

export function answerAgentInboxes(options: AgentInboxesOptions): EdgeObserver {
  return {
    receive(message, line) {
      if (message.type !== "agent_inbox") return;
      const { call, question } = message;
      const answer = (outcome: AgentInboxOutcome): void => line.send({ type: "agent_inbox_answered", call, outcome });
      runUnattended("message", outcomeOf(options, question).then(answer));
    },
  };
}

async function outcomeOf(options: AgentInboxesOptions, question: AgentInboxQuestion): Promise<AgentInboxOutcome> {
  const { store, inboxes, log } = options;
  const { accountId, verb, host } = question;
  try {
    if (store.node) await store.refresh();
    const found = verb === "open" ? await openInbox(options, question) : findInbox(store, question);
    if (!found) throw new Refusal("not_found", `use the inbox of "${host}": no agent has opened it`);
    const routeIds = found.routes.flatMap(({ id, doc }) => (doc[inboxName] ? [id] : []));
    if (verb === "hold" || verb === "release") {
      for (const id of routeIds) await inboxes.setPause(id, accountId, verb === "hold");
    }
    return { waiting: await inboxes.read((queries) => queries.countWaiting(accountId, routeIds)) };
  } catch (error) {
    if (error instanceof Refusal) return { refused: error.reason, message: error.message };
    log.warn("inbox of an agent not opened", { host, error });
    return { refused: "agent_inbox_unavailable", message: "use an inbox: the control plane has failed" };
  }
}

/** Returns the edge of the host if an agent's inbox has made it. Throws `Refusal` for any other edge. */
function findInbox(store: Store, { accountId, host, port }: AgentInboxQuestion): InboxEdge | undefined {
  const edge = store.holder("", "hostport", `${host}:${port}`);
  if (!edge) return undefined;
  if (edge.account_id !== accountId) throw new Refusal("agent_name_taken", `publish "${host}": it is not available`);
  if (edge.kind !== httpsEdge.name || edge.doc["metadata"] !== mark) {
    const why = `the edge ${edge.id} serves it: set the inbox on its routes, or use another URL`;
    throw new Refusal("agent_name_taken", `open an inbox at "${host}": ${why}`);
  }
  return { edgeId: edge.id, routes: store.children(httpsEdgeRoute.name, edge.id) };
}

/** Makes or changes the edge of the host. Throws `Refusal`. */
async function openInbox(options: AgentInboxesOptions, question: AgentInboxQuestion): Promise<InboxEdge | undefined> {
  const { store } = options;
  const { host, port, webhooks } = question;
  const run = runnerOf(options, question);
  const edge = findInbox(store, question) ?? {
    edgeId: await run("createHTTPSEdge", [], {
      hostports: [`${host}:${port}`],
      metadata: mark,
      description: "Inbox of an agent",
    }),
    routes: [],
  };
  const known = edge.routes.map(({ doc }) => (doc["backend"] as { readonly backend_id?: string } | null)?.backend_id);
  const backend_id =
    known.find((id) => id !== undefined) ??
    (await run("createTunnelGroupBackend", [], { labels: { [agentInboxLabel]: host }, metadata: mark }));
  for (const [match, modules] of modulesByPath(webhooks)) {
    const route = edge.routes.find(({ doc }) => doc["match"] === match);
    const body = { ...modules, backend: { backend_id } };
    if (route) await run("updateHTTPSEdgeRoute", [edge.edgeId, route.id], body);
    else await run("createHTTPSEdgeRoute", [edge.edgeId], { match_type: "path_prefix", match, ...body });
  }
  return findInbox(store, question);
}

/** Paths without a provider go to the agent directly if there are others with one. */
function modulesByPath(webhooks: readonly AgentInboxWebhook[]): ReadonlyMap<string, JsonObject> {
  const wanted = new Map<string, JsonObject>();
  for (const { path, provider, secret } of webhooks) {
    wanted.set(path, { [inboxName]: inbox, webhook_verification: { provider, secret } });
  }
  if (!wanted.has("/")) wanted.set("/", webhooks.length === 0 ? { [inboxName]: inbox } : {});
  return wanted;
}

/** Runs an operation of the API as the agent's token. Resolves with the id of the object. */
function runnerOf({ operations, clock }: AgentInboxesOptions, { accountId, credentialId }: AgentInboxQuestion) {
  return async (id: string, parameters: readonly string[], body: JsonObject): Promise<string> => {
    const operation = operations().find((one) => one.id === id);
    if (!operation) throw new Error(`open an inbox: there is no operation ${id}`);
    const reply = await operation.run({
      operation,
      operationId: newId("op", clock.now()),
      principal: { accountId, id: credentialId, operator: false },
      parameters,
      query: new URLSearchParams(),
      body,
      baseUrl: "",
      request: new IncomingMessage(new Socket()),
    });
    return (JSON.parse(String(reply.body)) as { readonly id: string }).id;
  };
}
