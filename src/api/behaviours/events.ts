/** What destinations and subscriptions of events do beyond their declarations. */
import { randomBytes } from "node:crypto";
import { Refusal } from "../../lib/errors.ts";
import type { Issue } from "../../schema/fields.ts";
import type { Doc } from "../../schema/doc.ts";
import { inputRefusal } from "../operation/input-refusal.ts";
import type { Preparation, Behaviour, Surroundings } from "../objects/behaviour.ts";
import { targetOf } from "../events/targets.ts";
import { eventTypeIssue } from "../events/event/types.ts";

export function eventDestinationBehaviour({ events }: Surroundings): Behaviour {
  return {
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
  };
}

/** A destination that something is sent to cannot become one that nothing is delivered to. */
function checkUnused({ draft, previous }: Preparation, why: string): void {
  const subscription = previous && draft.referrers(previous.id)[0];
  if (!subscription) return;
  const message = `must be one that this server delivers to while ${subscription.id} uses it: ${why}`;
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

function withSecret({ doc, previous }: Preparation): Doc {
  const target = doc["target"] as Doc;
  const webhook = target["webhook"] as Doc;
  if (webhook["secret"] !== "") return doc;
  const kept = ((previous?.doc["target"] as Doc | undefined)?.["webhook"] as Doc | null | undefined)?.["secret"];
  const secret = kept ?? `whsec_${randomBytes(32).toString("base64")}`;
  return { ...doc, target: { ...target, webhook: { ...webhook, secret } } };
}

export function eventSubscriptionBehaviour({ events }: Surroundings): Behaviour {
  return {
    prepare({ draft, accountId, doc }) {
      const issues: Issue[] = [];
      for (const [index, { type }] of (doc["sources"] as readonly { readonly type: string }[]).entries()) {
        const issue = eventTypeIssue(type);
        if (issue !== undefined) issues.push({ path: `sources[${index}].type`, message: `must ${issue}` });
      }
      for (const [index, id] of (doc["destination_ids"] as readonly string[]).entries()) {
        const destination = draft.get(accountId, "event_destination", id);
        const why = destination && events.unavailability(destination.doc);
        if (why === undefined) continue;
        const message = `must be a destination that this server delivers to: ${why}`;
        issues.push({ path: `destination_ids[${index}]`, message });
      }
      if (issues.length > 0) throw inputRefusal("event subscription", issues);
      return { doc };
    },
    live: ({ id }, baseUrl) => ({
      uri: (source: Doc) => `${baseUrl}/event_subscriptions/${id}/sources/${String(source["type"])}`,
    }),
  };
}
