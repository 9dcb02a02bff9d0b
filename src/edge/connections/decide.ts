import type { CompiledModule, OpenedDecision } from "../../traffic/module.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
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

/** What is decided with over a connection that was let in. */
export interface Deciding {
  /** Gets what was decided, in order. */
  readonly steps: Step[];
  /** Gets what was noted for the connection's event. */
  readonly logs: Readonly<Record<string, unknown>>[];
  /** Nothing with side effects is carried out. */
  readonly isRehearsal: boolean;
  /** Told of a module that has thrown. */
  failed(error: unknown): void;
}

/**
 * What modules decide over a connection that was let in, once everything is known of it. TLS that they were left to end
 * and did not is ended behind them. Gives false when it ends there.
 */
export function decideOpened(
  site: ConnectionSite,
  connection: OpenConnection,
  deciding: Deciding,
): boolean | Promise<boolean> {
  const { steps, logs, failed } = deciding;
  const modules = site.connection.filter((module) => module.opened !== undefined);
  return modules.length === 0 || openedFrom(0);

  function openedFrom(index: number): boolean | Promise<boolean> {
    for (let at = index; at < modules.length; at += 1) {
      let decision: OpenedDecision | Promise<OpenedDecision>;
      try {
        decision = ask(modules[at] as Opening);
      } catch (error) {
        return broken(error);
      }
      if (decision instanceof Promise) {
        return decision.then((decided) => take(decided) && openedFrom(at + 1), broken);
      }
      if (!take(decision)) return false;
    }
    return tlsEnded(site, connection, steps);
  }

  function ask(module: Opening): OpenedDecision | Promise<OpenedDecision> {
    return deciding.isRehearsal && module.rehearseOpened
      ? module.rehearseOpened(connection)
      : module.opened(connection);
  }

  function take(decision: OpenedDecision): boolean {
    steps.push(...decision.steps);
    logs.push(...decision.logs);
    return !decision.closes;
  }

  function broken(error: unknown): boolean {
    failed(error);
    steps.push(moduleFailed(error));
    return false;
  }
}

/** Ends TLS that a policy was left to end, and was not to pass through. */
function tlsEnded(site: ConnectionSite, connection: OpenConnection, steps: Step[]): boolean | Promise<boolean> {
  if (site.lastHandshake === undefined || connection.endTls === undefined) return true;
  return connection.endTls(site.lastHandshake, site.certificate).then((ended) => {
    if (!(ended instanceof Error)) return true;
    steps.push(refused("route_broken", ended.message));
    return false;
  });
}

type Opening = Required<Pick<CompiledModule, "opened">> & Pick<CompiledModule, "rehearseOpened">;
