/** What operations on objects work with. */
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
  /** The port of HTTPS in public URLs, as far as it is known: the usual one until an edge has said another. */
  readonly httpsPort: () => number;
}

/** What the caller may see. */
export function viewsFor({ principal }: Pick<Call, "principal">, { views }: Pick<ObjectContext, "views">): Views {
  return views.seenBy(principal.scope);
}

/** What modules of the object may be told of it. */
export function ownerOf(id: string, { names, httpsPort }: ObjectContext): ModuleOwner {
  return { id, names, httpsPort: httpsPort() };
}
