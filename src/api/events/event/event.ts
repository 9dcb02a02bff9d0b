/** Renders a change as an event for receivers. */
import { createHash } from "node:crypto";
import type { Fields } from "../../../schema/fields.ts";
import { renderFields } from "../../../schema/render-fields.ts";
import type { PastChange, StoredObject } from "../../../storage/store.ts";
import { resourceNamed, resources } from "../../operation/resource-declarations.ts";
import { uriOf, uriOfId } from "../../objects/views.ts";

export interface Event {
  /** Equal for every attempt to send the event, so that a receiver can detect duplicates. */
  readonly id: string;
  readonly type: string;
  /** RFC 3339. */
  readonly time: string;
  /** A JSON object on one line. */
  readonly body: string;
  /** Returns a body without the object and with `shortened`, for receivers that reject bodies of this length. */
  readonly short: () => string;
}

export type RenderEvent = (accountId: string, type: string, change: PastChange) => Event;

/** Stored fields only. Computed fields were never written. */
const stored: ReadonlyMap<string, Fields> = new Map(
  resources.map(({ name, fields }) => [
    name,
    Object.fromEntries(Object.entries(fields).filter(([, field]) => !field.live)),
  ]),
);

/** Masks secrets in events for all receivers. */
export function eventRenderer(baseUrl: string): RenderEvent {
  const render = (object: StoredObject | undefined): unknown =>
    object && {
      id: object.id,
      uri: uriOf(object, baseUrl),
      created_at: object.created_at,
      ...renderFields(stored.get(resourceNamed(object.kind).name) as Fields, object.doc, {
        uriOf: (id) => uriOfId(id, baseUrl),
        children: () => [],
        live: {},
        redact: true,
      }),
    };
  return (accountId, type, change) => {
    const [before, after] = [render(change.before), render(change.after)];
    const id = eventId(accountId, change);
    const head = {
      event_id: id,
      event_type: type,
      event_timestamp: change.time,
      account_id: accountId,
      principal: { id: change.principal },
      operation: { id: change.operationId, name: change.operation },
      revision: change.at.revision,
    };
    const body = JSON.stringify({
      ...head,
      // Objects without history leave only their id in a deletion.
      object: after ?? before ?? { id: change.id },
      before: before ?? null,
      after: after ?? null,
    });
    const short = (): string =>
      JSON.stringify({ ...head, object: { id: change.id }, before: null, after: null, shortened: true });
    return { id, type, time: change.time, body, short };
  };
}

function eventId(accountId: string, { at, operationId }: PastChange): string {
  return idOfEvent(`${accountId} ${operationId} ${at.revision} ${at.position}`);
}

/** Returns the same id for the same text. */
export function idOfEvent(text: string): string {
  const hash = createHash("sha256").update(text).digest();
  const digits = (hash.readBigUInt64BE(0) * 2n ** 64n + hash.readBigUInt64BE(8)).toString(36);
  return `ev_${digits.padStart(27, "0").slice(-27)}`;
}
