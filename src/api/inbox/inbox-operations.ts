/** Operations on inboxes: see what waits, deliver it again, discard it, pause and resume deliveries. */
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { formatTimestamp } from "../../lib/clock.ts";
import { httpsEdgeRoute } from "../../resources/https-edge-route.ts";
import type { Backlog, MessageFilter, MessageRow } from "../../storage/inbox/inbox-queries.ts";
import type { Store } from "../../storage/store.ts";
import type { StoredRequest } from "../../traffic/stored-request.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { flagIn, pageBody, pageQuery, readPageQuery } from "../objects/page-query.ts";
import type { Call, Operation, Reply } from "../operation/call.ts";
import { filterQuery, queryOf, readFilter } from "./message-filter.ts";
import type { Inboxes } from "./inboxes.ts";
import {
  changedSchema,
  exampleDetail,
  exampleInbox,
  exampleMessage,
  examplePayload,
  inboxListSchema,
  inboxSchema,
  messageDetailSchema,
  messageListSchema,
  messageSchema,
  payloadSchema,
} from "./inbox-schemas.ts";

const path = "/inbox_messages";
const inboxes = "/inboxes";
const retainMs = 72 * 3_600_000;

interface InboxContext {
  readonly store: Store;
  /** Undefined while the API is only described. */
  readonly inboxes: () => Inboxes;
  readonly log: Log;
}

export function inboxOperations(context: InboxContext): Operation[] {
  const shared = { takes: "nothing", status: 200, refusals: ["inbox_unreadable"] } as const;
  return [
    {
      ...shared,
      id: "listInboxMessages",
      method: "GET",
      path,
      query: [...pageQuery, ...filterQuery],
      summary:
        "List the messages of all inboxes, newest first. `provider`, `event_type`, `since` and `text` look among the newest 100,000 messages that match `route_id` and `state`.",
      replySchema: "InboxMessageList",
      schemas: { InboxMessageList: messageListSchema, InboxMessage: messageSchema },
      exampleReply: { inbox_messages: [exampleMessage], uri: exampleBaseUrl + path, next_page_uri: null },
      run: (call) => listMessages(call, context),
    },
    {
      ...shared,
      id: "getInboxMessage",
      method: "GET",
      path: `${path}/{id}`,
      summary: "Get a message of an inbox with its attempts.",
      replySchema: "InboxMessageDetail",
      schemas: { InboxMessageDetail: messageDetailSchema },
      exampleReply: exampleDetail,
      run: (call) => getMessage(call, context),
    },
    {
      ...shared,
      id: "getInboxMessagePayload",
      method: "GET",
      path: `${path}/{id}/payload`,
      needs: "exchanges",
      summary: "Get the header fields and the body of a message as they arrived.",
      replySchema: "InboxPayload",
      schemas: { InboxPayload: payloadSchema },
      exampleReply: examplePayload,
      run: (call) => getPayload(call, context),
    },
    ...makeChangeOperations(context),
    {
      ...shared,
      id: "listInboxes",
      method: "GET",
      path: inboxes,
      summary: "List the inboxes with messages that wait or are dead.",
      replySchema: "InboxList",
      schemas: { InboxList: inboxListSchema, Inbox: inboxSchema },
      exampleReply: { inboxes: [exampleInbox], uri: exampleBaseUrl + inboxes, next_page_uri: null },
      run: (call) => listInboxes(call, context),
    },
    ...(["pause", "resume"] as const).map((verb): Operation => ({
      ...shared,
      id: `${verb}Inbox`,
      verb: "command",
      method: "POST",
      takes: "anything",
      status: 204,
      path: `${inboxes}/{id}/${verb}`,
      summary:
        verb === "pause"
          ? "Pause the deliveries of a route's inbox. Messages are still stored. The id is the route's."
          : "Resume the deliveries of a route's inbox.",
      run: (call) => setPause(call, context, verb === "pause"),
    })),
  ];
}

/** Deliver and discard, each for one message and by filter. */
function makeChangeOperations(context: InboxContext): Operation[] {
  const summaries = {
    deliver: {
      one: "Deliver a message now, also if it has ended.",
      many: "Deliver all messages that match now, at most 10,000. With `dry_run`, only count them.",
    },
    discard: {
      one: "Discard a message that is not delivered.",
      many: "Discard all messages that match and are not delivered, at most 10,000. With `dry_run`, only count them.",
    },
  } as const;
  return (["deliver", "discard"] as const).flatMap((verb): Operation[] => {
    const name = verb === "deliver" ? "deliver" : "discard";
    const shared = { verb: "command", method: "POST", takes: "anything" } as const;
    return [
      {
        ...shared,
        id: `${name}InboxMessages`,
        path: `${path}/${verb}`,
        query: [...filterQuery, "dry_run"],
        summary: summaries[verb].many,
        status: 200,
        replySchema: "InboxChange",
        schemas: { InboxChange: changedSchema },
        exampleReply: { count: 3, dry_run: false },
        refusals: ["inbox_unreadable"],
        run: (call) => changeMany(call, context, verb),
      },
      {
        ...shared,
        id: `${name}InboxMessage`,
        path: `${path}/{id}/${verb}`,
        summary: summaries[verb].one,
        status: 204,
        refusals: ["inbox_unreadable", "inbox_message_ended"],
        run: (call) => changeOne(call, context, verb),
      },
    ];
  });
}

async function listMessages(call: Call, context: InboxContext): Promise<Reply> {
  const { limit, beforeId } = readPageQuery(call);
  const filter = readFilter(call);
  const { accountId } = call.principal;
  const found = await context.inboxes().read((queries) => queries.list(accountId, filter, limit + 1, beforeId));
  const page = found.slice(0, limit);
  const nextBeforeId = found.length > limit ? page.at(-1)?.id : undefined;
  const items = page.map((one) => JSON.stringify(viewOf(one, call.baseUrl)));
  return {
    status: 200,
    body: pageBody(call, path, "inbox_messages", items, { limit, nextBeforeId, more: queryOf(call) }),
  };
}

async function getMessage(call: Call, context: InboxContext): Promise<Reply> {
  const message = await requireMessage(call, context);
  const attempts = await context.inboxes().read((queries) => queries.attempts(message.seq));
  const attempt_list = attempts.map(({ number, atMs, durationMs, status = null, error = null }) => ({
    number,
    at: formatTimestamp(atMs),
    duration_ms: durationMs,
    status_code: status,
    error,
  }));
  return { status: 200, body: JSON.stringify({ ...viewOf(message, call.baseUrl), attempt_list }) };
}

async function getPayload(call: Call, context: InboxContext): Promise<Reply> {
  const message = await requireMessage(call, context);
  const { accountId, id: by } = call.principal;
  const { head, body } = await context.inboxes().payload({ ...message, accountId });
  context.log.info("payload of a webhook read", { message: message.id, account: accountId, by });
  const { method, scheme, host, target, headers } = JSON.parse(head) as StoredRequest;
  const text = body.toString("utf8");
  const isBase64 = !Buffer.from(text).equals(body);
  const hostField = headers.find(([name]) => name.toLowerCase() === "host")?.[1] ?? host;
  const payload = {
    method,
    url: `${scheme}://${hostField}${target}`,
    headers: headers.map(([name, value]) => ({ name, value })),
    body: isBase64 ? body.toString("base64") : text,
    is_base64: isBase64,
  };
  return { status: 200, body: JSON.stringify(payload) };
}

async function changeMany(call: Call, context: InboxContext, verb: "deliver" | "discard"): Promise<Reply> {
  const filter = readFilter(call);
  const isDryRun = flagIn(call, "dry_run");
  const { accountId } = call.principal;
  const count = isDryRun
    ? await context
        .inboxes()
        .read((queries) =>
          verb === "deliver"
            ? queries.countDeliverable(accountId, filter)
            : queries.countDiscardable(accountId, filter),
        )
    : await changeMessages(call, context, verb, filter);
  return { status: 200, body: JSON.stringify({ count, dry_run: isDryRun }) };
}

async function changeOne(call: Call, context: InboxContext, verb: "deliver" | "discard"): Promise<Reply> {
  const message = await requireMessage(call, context);
  const count = await changeMessages(call, context, verb, { id: message.id });
  if (count === 0) {
    throw new Refusal("inbox_message_ended", `${call.operation.id}: message ${message.id} is ${message.state}`);
  }
  return { status: 204 };
}

/** A message is no object of the configuration, so the log has the change, and not the history. */
async function changeMessages(
  call: Call,
  context: InboxContext,
  verb: "deliver" | "discard",
  filter: MessageFilter & { readonly id?: string },
): Promise<number> {
  const { accountId, id: by } = call.principal;
  const opened = context.inboxes();
  const routes = await opened.read((queries) =>
    verb === "deliver" ? queries.deliver(accountId, filter) : queries.discard(accountId, filter, retainMs),
  );
  opened.wake(routes);
  context.log.info("webhooks changed", { change: verb, count: routes.length, account: accountId, by });
  return routes.length;
}

async function listInboxes(call: Call, context: InboxContext): Promise<Reply> {
  const backlogs = await context.inboxes().read((queries) => queries.backlogs(call.principal.accountId));
  const list = { inboxes: backlogs.map(inboxView), uri: call.baseUrl + inboxes, next_page_uri: null };
  return { status: 200, body: JSON.stringify(list) };
}

async function setPause(call: Call, context: InboxContext, isPaused: boolean): Promise<Reply> {
  const [id = ""] = call.parameters;
  const { accountId, id: by } = call.principal;
  if (!context.store.get(accountId, httpsEdgeRoute.name, id)) {
    throw new Refusal("not_found", `${call.operation.id}: there is no route ${JSON.stringify(id.slice(0, 64))}`);
  }
  await context.inboxes().setPause(id, accountId, isPaused);
  context.log.info("deliveries of an inbox changed", { route: id, paused: isPaused, account: accountId, by });
  return { status: 204 };
}

const messageId = /^[a-z]+_[0-9a-z]{27}$/;

async function requireMessage(call: Call, context: InboxContext): Promise<MessageRow> {
  const [id = ""] = call.parameters;
  const { accountId } = call.principal;
  const found = messageId.test(id) && (await context.inboxes().read((queries) => queries.find(accountId, id)))[0];
  if (found) return found;
  throw new Refusal("not_found", `${call.operation.id}: there is no message ${JSON.stringify(id.slice(0, 64))}`);
}

function viewOf(message: MessageRow, baseUrl: string): Record<string, unknown> {
  const { id, state, status = null, error = null, endedMs } = message;
  return {
    id,
    uri: `${baseUrl}${path}/${id}`,
    route_id: message.routeId,
    state,
    received_at: formatTimestamp(message.receivedMs),
    next_attempt_at: state === "waiting" ? formatTimestamp(message.dueMs) : null,
    ended_at: endedMs === undefined ? null : formatTimestamp(endedMs),
    attempts: message.attempts,
    provider: message.provider,
    event_type: message.eventType,
    method: message.method,
    path: message.path,
    source_ip: message.source,
    request_id: message.requestId,
    bytes: message.bytes,
    status_code: status,
    error,
  };
}

function inboxView({ routeId, waiting, dead, oldestMs, isPaused }: Backlog): Record<string, unknown> {
  return {
    route_id: routeId,
    waiting,
    dead,
    oldest_waiting_at: oldestMs === undefined ? null : formatTimestamp(oldestMs),
    paused: isPaused,
  };
}
