/** Ids and event types of webhooks, as far as their providers send them. */
import { parseJson } from "./special.ts";
import type { WebhookMessage } from "./scheme.ts";

/** Where a provider names a delivery: a header field, or members of the JSON body. Both stay the same in its retries. */
interface DeliveryIdPlace {
  readonly header?: readonly string[];
  readonly body?: readonly string[];
}

/** Providers that are not listed name only objects, or nothing, in what they send. */
export const deliveryIds: Readonly<Record<string, DeliveryIdPlace>> = {
  aftership: { body: ["event_id"] },
  alchemy: { body: ["id"] },
  autodesk: { header: ["x-adsk-delivery-id"] },
  bitbucket: { header: ["x-request-uuid"] },
  box: { header: ["box-delivery-id"] },
  brex: { header: ["svix-id", "webhook-id"] },
  chargify: { header: ["x-chargify-webhook-id"] },
  circleci: { body: ["id"] },
  clerk: { header: ["svix-id", "webhook-id"] },
  coinbase: { body: ["event.id"] },
  contentful: { header: ["x-contentful-idempotency-key"] },
  github: { header: ["x-github-delivery"] },
  gitlab: { header: ["idempotency-key", "x-gitlab-event-uuid"] },
  heroku: { body: ["id"] },
  intercom: { body: ["id"] },
  jira: { header: ["x-atlassian-webhook-identifier"] },
  launch_darkly: { body: ["_id"] },
  linear: { header: ["linear-delivery"] },
  mailgun: { body: ["event-data.id", "signature.token"] },
  modern_treasury: { header: ["x-webhook-id"] },
  mux: { body: ["id"] },
  orb: { body: ["id"] },
  orbit: { header: ["x-orbit-event-id"] },
  pagerduty: { body: ["event.id"] },
  pinwheel: { body: ["event_id"] },
  sentry: { header: ["request-id"] },
  shopify: { header: ["x-shopify-webhook-id"] },
  slack: { body: ["event_id"] },
  sns: { body: ["MessageId"] },
  sonatype: { header: ["x-nexus-webhook-delivery"] },
  square: { body: ["event_id"] },
  stripe: { body: ["id"] },
  svix: { header: ["svix-id", "webhook-id"] },
  twilio: { header: ["i-twilio-idempotency-token"] },
  typeform: { body: ["event_id"] },
  worldline: { body: ["id"] },
  zendesk: { header: ["x-zendesk-webhook-invocation-id"] },
};

const typeHeaders: Readonly<Record<string, string>> = {
  autodesk: "x-adsk-event",
  bitbucket: "x-event-key",
  buildkite: "x-buildkite-event",
  contentful: "x-contentful-topic",
  github: "x-github-event",
  gitlab: "x-gitlab-event",
  linear: "linear-event",
  modern_treasury: "x-topic",
  orbit: "x-orbit-event-type",
  sentry: "sentry-hook-resource",
  shopify: "x-shopify-topic",
};

/** Members of bodies that name the type, in this order. */
const typeMembers = [
  "type",
  "event.event_type",
  "event_type",
  "eventType",
  "event",
  "event-data.event",
  "Type",
  "topic",
];
/** Parsing a longer body would delay other traffic. */
const maxParsedBytes = 256 * 1024;
const maxLength = 512;

export interface DeliveryFacts {
  /** "" if the provider sends none. */
  readonly id: string;
  /** Whether the id is in a signed body. A replayed message can have any other id in its header. */
  readonly isIdSigned: boolean;
  /** "" if unknown. */
  readonly eventType: string;
}

/** @param provider as `providerNamed` returns it */
export function deliveryFacts(
  provider: string,
  { headers, body }: Pick<WebhookMessage, "headers" | "body">,
): DeliveryFacts {
  const { header: names = [], body: members = [] } = deliveryIds[provider] ?? {};
  const typeHeader = typeHeaders[provider];
  const inHeader = firstSet(names.map((name) => headers.getAll(name)[0]));
  const typed = typeHeader === undefined ? "" : firstSet([headers.getAll(typeHeader)[0]]);
  const needsBody = (members.length > 0 && inHeader === "") || typed === "";
  const parsed = needsBody && body.length <= maxParsedBytes ? parseJson(body) : undefined;
  const inBody = inHeader === "" ? firstSet(members.map((path) => textAt(parsed, path))) : "";
  return {
    id: inHeader || inBody,
    isIdSigned: inBody !== "",
    eventType: typed || firstSet(typeMembers.map((path) => textAt(parsed, path))),
  };
}

function firstSet(texts: readonly (string | undefined)[]): string {
  return texts.find((text) => text !== undefined && isUsable(text)) ?? "";
}

/** PostgreSQL stores neither NUL nor half of a surrogate pair. One such text would reject the webhooks beside it, too. */
function isUsable(text: string): boolean {
  return text !== "" && text.length <= maxLength && !text.includes("\0") && text.isWellFormed();
}

function textAt(value: unknown, path: string): string | undefined {
  let found = value;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return typeof found === "string" || typeof found === "number" ? String(found) : undefined;
}
