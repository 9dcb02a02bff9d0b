import type { CompiledRoute, RoutingTable } from "../../routing/sites/compiled-site.ts";
import type { Problem } from "../../routing/planes/messages.ts";

/** Maximum number of routes in the list. Further ones are only logged. */
const maxRoutes = 1000;
const kind = "https_edge_route";

/** Routes on which a module has failed. Each is a problem until the route is configured again (R6). */
export interface FailingRoutes {
  note(route: Pick<CompiledRoute, "id">, error: unknown): void;
  problems(): readonly Problem[];
}

/** @param report receives new and cleared problems */
export function makeFailingRoutes(
  table: Pick<RoutingTable, "object" | "subscribe">,
  report: (problems: readonly Problem[]) => void,
): FailingRoutes {
  const failing = new Map<string, { readonly revision: number; readonly problem: Problem }>();
  table.subscribe(() => {
    if (failing.size === 0) return;
    const cleared: Problem[] = [];
    for (const [id, { revision, problem }] of failing) {
      if (table.object(kind, id)?.revision === revision) continue;
      failing.delete(id);
      cleared.push({ ...problem, message: undefined });
    }
    if (cleared.length > 0) report(cleared);
  });
  return {
    note({ id }, error) {
      const object = table.object(kind, id);
      if (!object || failing.has(id) || failing.size >= maxRoutes) return;
      const message = `act on a request: ${error instanceof Error ? error.message : String(error)}`;
      const problem = { kind, id, accountId: object.account_id, module: undefined, message };
      failing.set(id, { revision: object.revision, problem });
      report([problem]);
    },
    problems: () => Array.from(failing.values(), ({ problem }) => problem),
  };
}
