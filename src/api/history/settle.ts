import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../../lib/errors.ts";
import type { Draft, StoredObject } from "../../storage/store.ts";
import type { Call } from "../operation/call.ts";
import { prepare } from "../objects/prepare.ts";
import type { ObjectContext } from "../objects/context.ts";
import { resourceNamed } from "../operation/declarations.ts";

/** An object that a write of many has put into its draft. */
export interface Put {
  readonly object: StoredObject;
  /** Its state before the write; absent when it did not exist. */
  readonly before: StoredObject | undefined;
}

/**
 * Completes and checks what was put, as writes of one object do, once all of it is in place. A `Refusal` names
 * the object that it is about as `object_id` and `object_kind` in its details.
 */
export function settle(call: Call, context: ObjectContext, draft: Draft, puts: readonly Put[]): void {
  for (const { object, before } of puts) {
    const resource = resourceNamed(object.kind);
    const behaviour = context.behaviours[object.kind];
    try {
      const { doc } = prepare(resource, call, draft, object.account_id, object.doc, before, behaviour);
      const settled = isDeepStrictEqual(doc, object.doc) ? object : draft.replace(object, doc);
      if (!before) behaviour?.created?.(draft, settled);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const details = { ...error.details, object_id: object.id, object_kind: object.kind };
      throw new Refusal(error.reason, error.message, details);
    }
  }
}
