/** Fields of the module that stores webhooks, except its expressions. The control plane reads them to deliver. */
import { f } from "../../schema/fields.ts";
import type { StoredOf } from "../../schema/fields.ts";

export const inboxName = "inbox";

/** Maximum length of a stored body, bytes. */
export const maxInboxBody = 8 * 1024 * 1024;

export const inboxFields = {
  respond_status: f.uint32("Status that the provider gets once the message is stored.", {
    min: 200,
    max: 299,
    default: 202,
  }),
  respond_body: f.string("Body that the provider gets once the message is stored.", { maxBytes: 4096 }),
  respond_content_type: f.string("Media type of `respond_body`.", { maxBytes: 128 }),
  methods: f.list(
    "Methods of the requests to store. Other requests go to the backend directly.",
    f.oneOf("A method.", ["POST", "PUT", "PATCH", "DELETE", "GET"]),
    { maxItems: 5, unique: true, default: ["POST", "PUT", "PATCH"] },
  ),
  dedupe_hours: f.uint32("Hours for which the server remembers these values.", {
    min: 1,
    max: 8760,
    default: 72,
  }),
  resign: f.boolean(
    "Sign messages anew with the route's webhook provider and secret when they are delivered, so that the service accepts them late. The original fields follow with the prefix `Postern-Original-`. SNS and SendGrid sign with keys that only they have, so their original signatures stay, and a service that checks the time must accept older ones.",
    { default: true },
  ),
  max_attempts: f.uint32("Number of attempts before a message is dead. Attempts that reach no service do not count.", {
    min: 1,
    max: 100,
    default: 12,
  }),
  first_retry_seconds: f.uint32("Pause after the first failed attempt, seconds. Each further pause is twice as long.", {
    min: 1,
    max: 86_400,
    default: 5,
  }),
  max_retry_seconds: f.uint32("Longest pause between attempts, seconds.", {
    min: 1,
    max: 604_800,
    default: 3600,
  }),
  timeout_seconds: f.uint32("Maximum time for one attempt, seconds.", {
    min: 1,
    max: 600,
    default: 30,
  }),
  concurrency: f.uint32("Maximum number of messages that are delivered at the same time.", {
    min: 1,
    max: 64,
    default: 8,
  }),
  rate_per_second: f.uint32("Maximum number of deliveries per second on each node; 0 for no limit.", {
    max: 10_000,
  }),
  retain_hours: f.uint32("Hours for which delivered messages are kept.", {
    min: 1,
    max: 8760,
    default: 72,
  }),
} as const;

export type InboxConfig = StoredOf<typeof inboxFields> & { readonly enabled?: boolean };
