import type { Exchange } from "../exchange.ts";
import type { Visitor } from "../visitor.ts";
import type { Step } from "../step.ts";
import { declareEmpty } from "./variable.ts";
import type { Variables } from "./variable.ts";

/** Variables of the edge's decisions about a request so far. */
export const decisionVariables: Variables = {
  ".ngrok.client_ip": { doc: "address of the client", read: ({ connection }) => connection.source },
  ".ngrok.request_id": { doc: "id of the request", read: ({ id }) => id },
  ".ngrok.saml.subject": {
    doc: "NameID of the visitor at the SAML provider",
    read: ({ login: facts }) => (facts?.module === "saml" ? facts.subject : ""),
  },
  ".ip_policy.decision": {
    doc: "`allow` or `block`",
    read: (exchange) => renderDecision(stepBy(exchange, "ip_restriction")),
  },
  ".ip_policy.matching_rule": {
    doc: "id of the rule that decided",
    read: (exchange) => {
      const decided = stepBy(exchange, "ip_restriction")?.decidedBy;
      return decided?.kind === "ip_policy_rule" ? decided.id : "";
    },
  },
  ".webhook_validation.decision": {
    doc: "`allow` or `block`",
    read: (exchange) => renderDecision(stepBy(exchange, "webhook_verification")),
  },
  ".circuit_breaker.decision": {
    doc: "`allow`, `block` or `allow_while_open`",
    read: (exchange) => {
      const step = stepBy(exchange, "circuit_breaker");
      return step?.outcome === "passed" && step.reason !== "closed" ? "allow_while_open" : renderDecision(step);
    },
  },
  ".oauth.app_client_id": { doc: "client id of the login", read: (exchange) => findLogin(exchange)?.clientId ?? "" },
  ".oauth.decision": {
    doc: "`allow` or `block`, also of OpenID Connect; a redirect to the login is `block`",
    read: (exchange) => loginDecision(exchange.steps),
  },
  ".oauth.user.id": {
    doc: "id of the visitor at the provider",
    read: (exchange) => findLogin(exchange)?.subject ?? "",
  },
  ".oauth.user.email": {
    doc: "e-mail address of the visitor, from the provider",
    read: (exchange) => findLogin(exchange)?.email ?? "",
  },
  ".oauth.user.name": {
    doc: "name of the visitor, from the provider",
    read: (exchange) => findLogin(exchange)?.name ?? "",
  },
  ".compression.algorithm": {
    doc: "encoding of a response that is compressed here",
    read: (exchange) =>
      stepBy(exchange, "compression")?.outcome === "changed"
        ? (exchange.response?.headers.get("content-encoding") ?? "")
        : "",
  },
  ".compression.bytes_saved": declareEmpty("the body is compressed behind its headers"),
  ".backend.id": {
    doc: "id of the backend; of responses",
    read: (exchange) => stepBy(exchange, "backend")?.decidedBy?.id ?? "",
  },
  ".backend.connection_reused": {
    doc: "whether the upstream's connection had carried a request before; of responses",
    read: ({ connectionReused }) => String(connectionReused ?? ""),
  },
  ".backend.dial_duration": {
    doc: "milliseconds that opening the upstream's connection took, or for a tunnel its stream, 0 when reused; of responses",
    read: ({ dialDurationMs }) => (dialDurationMs === undefined ? "" : String(Number(dialDurationMs.toFixed(3)))),
  },
};

function stepBy({ steps }: Exchange, by: string): Step | undefined {
  // The account's restriction precedes the route's own, and both produce the same step name.
  return steps.findLast((step) => step.by === by);
}

/** The login with an OAuth or OpenID Connect provider. */
function findLogin(exchange: Exchange): Visitor | undefined {
  return exchange.login?.module === "saml" ? undefined : exchange.login;
}

/** Whether a login with such a provider admitted the request; "" if no login is required. */
export function loginDecision(steps: readonly Step[]): "allow" | "block" | "" {
  const step = steps.findLast(({ by }) => by === "oauth" || by === "oidc");
  if (!step || step.outcome === "skipped") return "";
  return step.answer === undefined ? "allow" : "block";
}

function renderDecision(step: Step | undefined): string {
  if (!step || step.outcome === "skipped") return "";
  return step.outcome === "denied" ? "block" : "allow";
}
