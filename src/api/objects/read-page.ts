/** Pages of objects, as they are read and before they are rendered; and pages without some of the objects. */
import type { StoredObject } from "../../storage/store.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import type { Views } from "./views.ts";
import { isVisible, seesEverything } from "../operation/scope.ts";

export interface Page {
  readonly objects: readonly StoredObject[];
  /** Older objects follow. */
  readonly more: boolean;
}

/** Newest first, of those that sort before `beforeId`. */
export type ReadPage = (request: { readonly limit: number; readonly beforeId: string | undefined }) => Page;

/** A collection as it is, or was at a revision, to be looked through. */
export interface Looked {
  readonly revision: number;
  read(request: Parameters<ReadPage>[0]): Page | Promise<Page>;
  /** How these of its objects are shown. */
  viewsOf(objects: readonly StoredObject[]): Views | Promise<Views>;
}

/** Objects looked at in one step. */
const stepObjects = 100;

/** Pages of what `holds`, as full as the others. */
export function onlyWhere(holds: (object: StoredObject) => boolean, read: ReadPage): ReadPage {
  return ({ limit, beforeId }) => {
    const objects: StoredObject[] = [];
    let below = beforeId;
    for (;;) {
      const page = read({ limit: stepObjects, beforeId: below });
      for (const object of page.objects) {
        if (!holds(object)) continue;
        if (objects.length === limit) return { objects, more: true };
        objects.push(object);
      }
      if (!page.more) return { objects, more: false };
      below = page.objects.at(-1)?.id;
    }
  };
}

/** Pages without the objects that the caller's key may not see. */
export function onlyVisible({ scope }: Pick<ApiPrincipal, "scope">, read: ReadPage): ReadPage {
  return seesEverything(scope) ? read : onlyWhere((object) => isVisible(scope, object), read);
}
