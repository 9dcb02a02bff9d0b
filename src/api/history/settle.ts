import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../../lib/errors.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { prepareObject } from "../objects/prepare-object.ts";
import type { ObjectContext } from "../objects/object-context.ts";
import { resourceNamed } from "../operation/resource-declarations.ts";

/** An object in the draft of a write of many objects. */
export interface Put {
  readonly object: StoredObject;
  /** State before the write. Undefined if the object did not exist. */
  readonly before: StoredObject | undefined;
}

/**
 * Completes and checks the objects in the draft as a write of one object does, after all of them are in place. A
 * `Refusal` names its object in `object_id` and `object_kind` of its details.
 */
export function settlePuts(call: Call, context: ObjectContext, draft: Draft, puts: readonly Put[]): void {
  for (const { object, before } of puts) {
    const resource = resourceNamed(object.kind);
    const behaviour = context.behaviours[object.kind];
    try {
      const { doc } = prepareObject(resource, call, draft, object.account_id, object.doc, before, behaviour);
      const settled = isDeepStrictEqual(doc, object.doc) ? object : draft.replace(object, doc);
      if (!before) behaviour?.created?.(draft, settled);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const details = { ...error.details, object_id: object.id, object_kind: object.kind };
      throw new Refusal(error.reason, error.message, details);
    }
  }
}
