import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled.ts";
import { moduleFailed, refused } from "../../routing/sites/refusals.ts";

/**
 * Whether a connection from `source` may have anything of `site`: the same for real connections and described ones.
 * Pushes the steps of modules that let it pass. Returns the step that ends it; undefined when it may go on.
 *
 * @param failed told of a module that has thrown: it closes its site (security R6)
 */
export function decideConnection(
  site: ConnectionSite,
  source: string,
  steps: Step[],
  failed: (error: unknown) => void,
): Step | undefined {
  if (site.problem) return refused("route_broken", `the edge has a problem: ${site.problem.message ?? ""}`);
  for (const module of site.connection) {
    let step: Step | undefined;
    try {
      step = module.connection?.(source);
    } catch (error) {
      failed(error);
      return moduleFailed(error);
    }
    if (step?.answer !== undefined) return step;
    if (step !== undefined) steps.push(step);
  }
  return undefined;
}
