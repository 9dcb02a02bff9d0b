/** Behaviour of event destinations and subscriptions beyond their declarations. */
import { randomBytes } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import type { Issue } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import { eventDestination } from "../../resources/event-destination.ts";
import { eventSubscription } from "../../resources/event-subscription.ts";
import { docOf } from "../../schema/doc.ts";
import type { DocOf } from "../../schema/doc.ts";
import type { Events } from "../events/dispatcher.ts";
import { behaviourOf } from "../objects/behaviour.ts";
import type { Preparation } from "../objects/behaviour.ts";
import { targetOf } from "../events/open-target.ts";
import { eventTypeIssue } from "../events/event/event-types.ts";

export interface EventRules {
  readonly events: Pick<Events, "status" | "unavailability" | "allowPrivate" | "delivered">;
}

type Destination = DocOf<typeof eventDestination>;

export function eventDestinationBehaviour({ events }: EventRules) {
  return behaviourOf(eventDestination, {
    prepare(input) {
      const { name, value } = targetOf(input.doc);
      const why = events.unavailability(input.doc);
      if (why !== undefined) checkUnused(input, why);
      if (name === "file" && !input.principal.operator) {
        throw new Refusal("operator_only", "only an operator's key can send events to a file of the server");
      }
      if (!events.allowPrivate) checkUrls(name, value);
      return { doc: name === "webhook" ? withSecret(input) : input.doc };
    },
    live: (destination) => ({ delivery: events.status(destination) }),
  });
}

/** A destination with subscriptions cannot change to a target that this server cannot deliver to. */
function checkUnused({ draft, previous }: Pick<Preparation<Destination>, "draft" | "previous">, why: string): void {
  const subscription = previous && draft.referrers(previous.id)[0];
  if (!subscription) return;
  const message = `must be a destination that this server can deliver to while ${subscription.id} uses it: ${why}`;
  throw inputRefusal("event destination", [{ path: "target", message }]);
}

/** Members of targets that are URLs. */
const urls = ["url", "endpoint", "logs_ingestion_uri", "authority_host"];

function checkUrls(name: string, value: Doc): void {
  for (const member of urls) {
    const url = value[member];
    if (typeof url !== "string" || url === "" || url.startsWith("https://")) continue;
    throw inputRefusal("event destination", [
      { path: `target.${name}.${member}`, message: "must begin with https://" },
    ]);
  }
}

function withSecret({ doc, previous }: Pick<Preparation<Destination>, "doc" | "previous">): Destination {
  const { webhook } = doc.target;
  if (!webhook || webhook.secret !== "") return doc;
  const secret = previous?.doc.target.webhook?.secret ?? `whsec_${randomBytes(32).toString("base64")}`;
  return { ...doc, target: { ...doc.target, webhook: { ...webhook, secret } } };
}

export function eventSubscriptionBehaviour({ events }: EventRules) {
  return behaviourOf(eventSubscription, {
    prepare({ draft, accountId, doc }) {
      const issues: Issue[] = [];
      for (const [index, { type }] of doc.sources.entries()) {
        const issue = eventTypeIssue(type);
        if (issue !== undefined) issues.push({ path: `sources[${index}].type`, message: `must ${issue}` });
      }
      for (const [index, id] of doc.destination_ids.entries()) {
        const destination = draft.get(accountId, eventDestination.name, id);
        const why = destination && events.unavailability(docOf(destination, eventDestination));
        if (why === undefined) continue;
        const message = `must be a destination that this server can deliver to: ${why}`;
        issues.push({ path: `destination_ids[${index}]`, message });
      }
      if (issues.length > 0) throw inputRefusal("event subscription", issues);
      return { doc };
    },
    live: ({ id }, baseUrl) => ({
      uri: (source: Doc) => `${baseUrl}/event_subscriptions/${id}/sources/${String(source["type"])}`,
    }),
  });
}
