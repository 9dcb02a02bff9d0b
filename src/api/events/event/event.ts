/** One change as its receivers read it. */
import { createHash } from "node:crypto";
import type { Fields } from "../../../schema/fields.ts";
import { renderFields } from "../../../schema/render.ts";
import type { PastChange, StoredObject } from "../../../storage/store.ts";
import { resourceNamed, resources } from "../../operation/declarations.ts";
import { uriOf, uriOfId } from "../../objects/views.ts";

export interface Event {
  /** The same each time that it is sent, so that a receiver can tell. */
  readonly id: string;
  readonly type: string;
  /** RFC 3339. */
  readonly time: string;
  /** A JSON object, one line. */
  readonly body: string;
  /** The body for receivers that do not take one of this length: without the object, and `shortened`. */
  readonly short: () => string;
}

export type RenderEvent = (accountId: string, type: string, change: PastChange) => Event;

/** Fields that are part of the object itself: what is computed on reading was never written. */
const stored: ReadonlyMap<string, Fields> = new Map(
  resources.map(({ name, fields }) => [
    name,
    Object.fromEntries(Object.entries(fields).filter(([, field]) => !field.live)),
  ]),
);

/** Secrets are masked in events, whoever receives them. */
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
      // Of what is kept without history, a deletion has the id alone.
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

/** The same for the same text. */
export function idOfEvent(text: string): string {
  const hash = createHash("sha256").update(text).digest();
  const digits = (hash.readBigUInt64BE(0) * 2n ** 64n + hash.readBigUInt64BE(8)).toString(36);
  return `ev_${digits.padStart(27, "0").slice(-27)}`;
}
