/** Schemas and examples of inboxes and their messages. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleTime } from "../operation/example-ids.ts";
import { flagSchema, listSchema, object, textSchema, textOrNull } from "../operation/shapes.ts";

const tail = "0f6yvqk3c5a9m2x7p4r8t1w6z0b";
const numberSchema = (description: string): JsonSchema => ({ type: "integer", description });
const numberOrNull = (description: string): JsonSchema => ({ type: ["integer", "null"], description });
const timeSchema = (description: string): JsonSchema => ({ type: "string", format: "date-time", description });
const timeOrNull = (description: string): JsonSchema => ({
  type: ["string", "null"],
  format: "date-time",
  description,
});

export const messageStates = ["waiting", "blocked", "sending", "dead", "delivered", "refused", "discarded"] as const;

const messageProperties = {
  id: textSchema("Its id, also in the field `Postern-Inbox-Id` of each delivery."),
  uri: textSchema("URI of the message."),
  route_id: textSchema("The route that received it."),
  state: {
    type: "string",
    enum: messageStates,
    description:
      "`waiting` for its next attempt, `blocked` by an earlier message of its line, `sending` now, `dead` after the last attempt, `delivered`, `refused` by the service with 410, or `discarded`.",
  },
  received_at: timeSchema("When it was stored."),
  next_attempt_at: timeOrNull("Time of the next attempt. Null if no attempt is planned."),
  ended_at: timeOrNull("When it was delivered, refused, dead or discarded."),
  attempts: numberSchema("Number of attempts so far."),
  provider: textSchema("Webhook provider that signed it; empty without verification."),
  event_type: textSchema("Type of the event, if the provider names it."),
  method: textSchema("Method of the request."),
  path: textSchema("Path of the request."),
  source_ip: textSchema("Address of the sender."),
  request_id: textSchema("Id of the request that brought it."),
  bytes: numberSchema("Size with header fields."),
  status_code: numberOrNull("Status of the service's last answer."),
  error: textOrNull("Why the last attempt had no answer: an error code or a clause."),
};

export const messageSchema = object("A webhook in an inbox.", messageProperties);

const attempt = object("An attempt to deliver a message.", {
  number: numberSchema("Its number, from 1."),
  at: timeSchema("When it began."),
  duration_ms: numberSchema("How long it took."),
  status_code: numberOrNull("Status of the service's answer."),
  error: textOrNull("Why there was no answer."),
});

export const messageDetailSchema = object("A webhook in an inbox, with its attempts.", {
  ...messageProperties,
  attempt_list: listSchema("Its attempts, oldest first.", attempt),
});

export const messageListSchema = object("Messages, newest first.", {
  inbox_messages: listSchema("The messages.", { $ref: schemaRef("InboxMessage") }),
  uri: textSchema("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last one."),
});

export const payloadSchema = object("The request of a message as it arrived.", {
  method: textSchema("Its method."),
  url: textSchema("Its URL."),
  headers: listSchema(
    "Its header fields in order.",
    object("A field.", { name: textSchema("Name."), value: textSchema("Value.") }),
  ),
  body: textSchema("Its body: text, or base64 if it is not UTF-8."),
  is_base64: flagSchema("Whether `body` is base64."),
});

export const changedSchema = object("Result of a change of messages.", {
  count: numberSchema("Number of messages that were changed, or would be."),
  dry_run: flagSchema("Whether nothing was changed."),
});

export const inboxSchema = object("The inbox of a route.", {
  route_id: textSchema("The route."),
  waiting: numberSchema("Messages that are not delivered yet."),
  dead: numberSchema("Messages whose last attempt failed."),
  oldest_waiting_at: timeOrNull("When the oldest waiting message arrived."),
  paused: flagSchema("Whether deliveries are paused."),
});

export const inboxListSchema = object("The inboxes with messages that wait or are dead, or that are paused.", {
  inboxes: listSchema("The inboxes.", { $ref: schemaRef("Inbox") }),
  uri: textSchema("URI of the list."),
  next_page_uri: textOrNull("Always null: the list has one page."),
});

const id = `inbox_${tail}`;
const route_id = `edghtsrt_${tail}`;

export const exampleMessage = {
  id,
  uri: `${exampleBaseUrl}/inbox_messages/${id}`,
  route_id,
  state: "waiting",
  received_at: exampleTime,
  next_attempt_at: exampleTime,
  ended_at: null,
  attempts: 1,
  provider: "github",
  event_type: "push",
  method: "POST",
  path: "/hooks/github",
  source_ip: "192.0.2.1",
  request_id: `req_${tail}`,
  bytes: 2048,
  status_code: 503,
  error: null,
};

export const exampleDetail = {
  ...exampleMessage,
  attempt_list: [{ number: 1, at: exampleTime, duration_ms: 12, status_code: 503, error: null }],
};

export const examplePayload = {
  method: "POST",
  url: "https://hooks.example.com/hooks/github",
  headers: [{ name: "x-github-event", value: "push" }],
  body: "{}",
  is_base64: false,
};

export const exampleInbox = { route_id, waiting: 14, dead: 0, oldest_waiting_at: exampleTime, paused: false };
