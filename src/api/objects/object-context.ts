/** Dependencies of operations on objects. */
import type { Clock } from "../../lib/clock.ts";
import type { ServerNames } from "../../lib/server-names.ts";
import type { Store } from "../../storage/store.ts";
import type { ModuleOwner } from "../../traffic/module.ts";
import type { LiveObjects } from "../edges/live-objects.ts";
import type { Call } from "../operation/call.ts";
import type { Behaviours } from "./behaviour.ts";
import type { PageCache } from "./page-cache.ts";
import type { Views } from "./views.ts";

export interface ObjectContext {
  readonly store: Store;
  readonly views: Views;
  readonly pages: PageCache;
  readonly liveObjects: LiveObjects;
  readonly behaviours: Behaviours;
  readonly clock: Clock;
  /** The server's own host names. */
  readonly names: ServerNames;
  /** HTTPS port in public URLs. Default: the standard port, until an edge reports another. */
  readonly httpsPort: () => number;
}

/** Returns the views that the caller may see. */
export function viewsFor({ principal }: Pick<Call, "principal">, { views }: Pick<ObjectContext, "views">): Views {
  return views.seenBy(principal.scope);
}

/** Returns what modules of the object may learn about it. */
export function ownerOf(id: string, { names, httpsPort }: ObjectContext): ModuleOwner {
  return { id, names, httpsPort: httpsPort() };
}
