import { createHash, hash } from "node:crypto";
import { newId } from "../lib/ids.ts";
import { Refusal } from "../lib/errors.ts";
import { captureWork } from "../lib/heartbeat.ts";
import { compileMessageExpression, messageExpressionIssue } from "../policy/message-expression.ts";
import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { defineModule } from "../traffic/module.ts";
import type { Exchange } from "../traffic/exchange.ts";
import type { Inbox, InboxOutcome, StoredRequest } from "../traffic/stored-request.ts";
import { inboxFields, inboxName, maxInboxBody } from "../traffic/parts/inbox-fields.ts";
import { answerStep, denyStep, passStep, skipStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";
import type { Scope } from "../traffic/module.ts";
import { deliveryFacts } from "../webhooks/delivery-facts.ts";
import type { DeliveryFacts } from "../webhooks/delivery-facts.ts";

const passes = passStep(inboxName, "the method is not stored");
const would = skipStep(inboxName, "would store the request and answer the provider");
const retryAfter = { "retry-after": "30" };
const refusals: Readonly<Record<Exclude<InboxOutcome, "stored" | "duplicate">, Step>> = {
  full: {
    ...denyStep(inboxName, "inbox_full", "the account has reached a limit of its inboxes"),
    answer: { error: "inbox_full", headers: retryAfter },
  },
  unavailable: {
    ...denyStep(inboxName, "inbox_unavailable", "the message could not be stored"),
    answer: { error: "inbox_unavailable", headers: retryAfter },
  },
};

const byProvider = "provider";

const messageName: StringFormat = {
  name: "inbox-message-name",
  example: "json.decode(body).id",
  check: (text) => (text === "" || text === byProvider ? undefined : messageExpressionIssue(text)),
};
const lineName: StringFormat = {
  name: "inbox-line-name",
  example: "json.decode(body).customer",
  check: (text) => (text === "" ? undefined : messageExpressionIssue(text)),
};

const dedupe = f.string(
  'Which messages are the same: "provider" for the id that the provider gives a delivery (without such an id, every message is stored), an expression, or empty for none. The server answers a second message with the same value and drops it. In expressions, `body` is the body as text, up to 64 KiB.',
  { maxBytes: 1024, default: byProvider, format: messageName },
);
const order_by = f.string(
  "Expression. The server delivers messages with the same value one after the other, in the order in which they arrived. A failing message holds up only the messages with its value. Empty: in any order.",
  { maxBytes: 1024, format: lineName },
);

/** Returns the module with the edge's line to the storage. Without it, nothing can be stored. */
export function inboxWith(inbox: Inbox | undefined) {
  return defineModule({
    name: inboxName,
    schemaName: "EndpointInbox",
    on: ["https_route"],
    doc: "Stores webhooks and answers the provider immediately. The server delivers them to the backend, in order of arrival, and retries until the service accepts them.",
    acts: { request: ["refuse", "answer"] },
    fields: { dedupe, order_by, ...inboxFields },
    compile(config, scope) {
      const { clock, accountId, ownerId: routeId } = scope;
      const keyOf = keysOf(config.dedupe, scope);
      const lineOf = config.order_by === "" ? undefined : compileMessageExpression(config.order_by, scope);
      const methods = new Set<string>(config.methods);
      const headers = config.respond_content_type === "" ? {} : { "content-type": config.respond_content_type };
      const store = async (exchange: Exchange): Promise<Step> => {
        const inSameWork = captureWork();
        let body: Buffer;
        try {
          body = inSameWork(await exchange.body(maxInboxBody));
        } catch (error) {
          if (!(error instanceof Refusal)) throw error;
          return denyStep(inboxName, error.reason, error.message);
        }
        const id = newId("inbox", clock.now());
        const provider = exchange.webhookProvider ?? "";
        const facts = deliveryFacts(provider, { headers: exchange.request.headers, body });
        const message = {
          id,
          accountId,
          routeId,
          requestId: exchange.id,
          path: exchange.request.path,
          provider,
          eventType: facts.eventType,
          key: keyOf(exchange, body, facts),
          keyMs: config.dedupe_hours * 3_600_000,
          line: lineOf && hash("sha256", lineOf(exchange, body), "base64url"),
          request: toStoredRequest(exchange),
        };
        const outcome = inbox === undefined ? "unavailable" : inSameWork(await inbox.put(message, body));
        if (outcome !== "stored" && outcome !== "duplicate") return refusals[outcome];
        return answerStep(inboxName, outcome === "stored" ? `stored as ${id}` : "dropped: it was stored before", {
          status: config.respond_status,
          headers: outcome === "stored" ? { ...headers, "postern-inbox-id": id } : headers,
          body: config.respond_body,
        });
      };
      const isTaken = ({ request }: Exchange): boolean => methods.has(request.method) && !request.upgrade;
      return {
        inbox: { resigns: config.resign },
        request: (exchange) => (isTaken(exchange) ? store(exchange) : passes),
        rehearse: (exchange) => (isTaken(exchange) ? would : passes),
      };
    },
  });
}

function toStoredRequest({ request, connection, receivedAt }: Exchange): StoredRequest {
  const { method, target, rewritten, scheme, host, headers } = request;
  return {
    method,
    target,
    ...(rewritten !== undefined && { rewritten }),
    scheme,
    host,
    headers: headers.entries(),
    source: connection.source,
    sourcePort: connection.sourcePort,
    localPort: connection.localPort,
    receivedAt,
  };
}

type KeyOf = (exchange: Exchange, body: Buffer, facts: DeliveryFacts) => string;

/** Returns the function that names messages. Messages with the same name are duplicates; "" is none. */
function keysOf(dedupe: string, scope: Scope): KeyOf {
  if (dedupe === "") return () => "";
  if (dedupe === byProvider) {
    return (_exchange, body, { id, isIdSigned }) => {
      if (id === "") return "";
      const digest = createHash("sha256").update(id);
      // Otherwise a replayed message with the id of a later one would make the server drop the later one.
      if (!isIdSigned) digest.update("\0").update(body);
      return digest.digest("base64url");
    };
  }
  const value = compileMessageExpression(dedupe, scope);
  return (exchange, body) => {
    const text = value(exchange, body);
    return text === "" ? "" : hash("sha256", text, "base64url");
  };
}
