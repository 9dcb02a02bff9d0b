import { systemClock } from "../../src/lib/clock.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { ModuleDeclaration } from "../../src/traffic/module.ts";
import type { RoutingTable } from "../../src/routing/sites/compiled.ts";
import type { Problem } from "../../src/routing/planes/messages.ts";
import { makeRoutingTable } from "../../src/routing/table.ts";
import type { ResourceObject } from "../../src/schema/object.ts";

/** A routing table that is filled object by object, as the control plane would. */
export function tableOf(
  clock: Clock = systemClock,
  modules?: readonly ModuleDeclaration[],
): {
  readonly table: RoutingTable;
  readonly put: (
    object: Pick<ResourceObject, "kind" | "id"> & Partial<ResourceObject> & { gone?: boolean },
  ) => readonly Problem[];
} {
  const table = makeRoutingTable(clock, modules);
  let revision = 0;
  return {
    table,
    put({ kind, id, account_id = "ac_1", doc = {}, gone = false }) {
      revision += 1;
      const object = gone ? null : { kind, id, account_id, revision, doc };
      return table.change(revision, [{ kind, id, account_id, object }]);
    },
  };
}
