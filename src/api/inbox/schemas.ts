/** Schemas and examples of inboxes and their messages. */
import type { JsonSchema } from "../../schema/json-schema.ts";
import { schemaRef } from "../../schema/json-schema.ts";
import { exampleBaseUrl } from "../objects/example-replies.ts";
import { exampleTime } from "../operation/examples.ts";
import { flag, list, object, text, textOrNull } from "../operation/shapes.ts";

const tail = "0f6yvqk3c5a9m2x7p4r8t1w6z0b";
const number = (description: string): JsonSchema => ({ type: "integer", description });
const numberOrNull = (description: string): JsonSchema => ({ type: ["integer", "null"], description });
const time = (description: string): JsonSchema => ({ type: "string", format: "date-time", description });
const timeOrNull = (description: string): JsonSchema => ({
  type: ["string", "null"],
  format: "date-time",
  description,
});

export const messageStates = ["waiting", "blocked", "sending", "dead", "delivered", "refused", "discarded"] as const;

const messageProperties = {
  id: text("Its id, also in the field `Postern-Inbox-Id` of each delivery."),
  uri: text("URI of the message."),
  route_id: text("The route that received it."),
  state: {
    type: "string",
    enum: messageStates,
    description:
      "`waiting` for its next attempt, `blocked` by an earlier message of its line, `sending` now, `dead` after the last attempt, `delivered`, `refused` by the service with 410, or `discarded`.",
  },
  received_at: time("When it was stored."),
  next_attempt_at: timeOrNull("Time of the next attempt. Null if no attempt is planned."),
  ended_at: timeOrNull("When it was delivered, refused, dead or discarded."),
  attempts: number("Number of attempts so far."),
  provider: text("Webhook provider that signed it; empty without verification."),
  event_type: text("Type of the event, if the provider names it."),
  method: text("Method of the request."),
  path: text("Path of the request."),
  source_ip: text("Address of the sender."),
  request_id: text("Id of the request that brought it."),
  bytes: number("Size with header fields."),
  status_code: numberOrNull("Status of the service's last answer."),
  error: textOrNull("Why the last attempt had no answer: an error code or a clause."),
};

export const messageSchema = object("A webhook in an inbox.", messageProperties);

const attempt = object("An attempt to deliver a message.", {
  number: number("Its number, from 1."),
  at: time("When it began."),
  duration_ms: number("How long it took."),
  status_code: numberOrNull("Status of the service's answer."),
  error: textOrNull("Why there was no answer."),
});

export const messageDetailSchema = object("A webhook in an inbox, with its attempts.", {
  ...messageProperties,
  attempt_list: list("Its attempts, oldest first.", attempt),
});

export const messageListSchema = object("Messages, newest first.", {
  inbox_messages: list("The messages.", { $ref: schemaRef("InboxMessage") }),
  uri: text("URI of the list."),
  next_page_uri: textOrNull("URI of the next page; null on the last one."),
});

export const payloadSchema = object("The request of a message as it arrived.", {
  method: text("Its method."),
  url: text("Its URL."),
  headers: list("Its header fields in order.", object("A field.", { name: text("Name."), value: text("Value.") })),
  body: text("Its body: text, or base64 if it is not UTF-8."),
  is_base64: flag("Whether `body` is base64."),
});

export const changedSchema = object("Result of a change of messages.", {
  count: number("Number of messages that were changed, or would be."),
  dry_run: flag("Whether nothing was changed."),
});

export const inboxSchema = object("The inbox of a route.", {
  route_id: text("The route."),
  waiting: number("Messages that are not delivered yet."),
  dead: number("Messages whose last attempt failed."),
  oldest_waiting_at: timeOrNull("When the oldest waiting message arrived."),
  paused: flag("Whether deliveries are paused."),
});

export const inboxListSchema = object("The inboxes with messages that wait or are dead, or that are paused.", {
  inboxes: list("The inboxes.", { $ref: schemaRef("Inbox") }),
  uri: text("URI of the list."),
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
