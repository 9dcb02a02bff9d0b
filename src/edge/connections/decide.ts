import { workOn } from "../../lib/heartbeat.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import { passStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled-site.ts";
import {
  moduleFailed,
  refuseByRouter,
  refuseTooManyHops,
  withoutUpstream,
} from "../../routing/sites/router-refusals.ts";

/**
 * Decides whether a connection from `source` may use `site`, for real and described connections. Pushes the steps of
 * modules that let it pass. Returns the step that ends it, or undefined if it may continue.
 *
 * @param failed called with a module that has thrown, which closes its site (security R6)
 */
export function decideConnection(
  site: ConnectionSite,
  source: string,
  steps: Step[],
  failed: (error: unknown) => void,
): Step | undefined {
  if (site.problem) return refuseByRouter("route_broken", `the edge has a problem: ${site.problem.message ?? ""}`);
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

/** Context of the decisions about an accepted connection. */
export interface Deciding {
  /** Receives the steps in order. */
  readonly steps: Step[];
  /** Receives the entries for the connection's event. */
  readonly logs: Readonly<Record<string, unknown>>[];
  /** Whether actions with side effects are skipped. */
  readonly isRehearsal: boolean;
  /** Returns an internal endpoint of the account. */
  readonly internal: (accountId: string, address: InternalAddress) => ConnectionSite | undefined;
  /** Called when a module has thrown. */
  failed(error: unknown): void;
}

/** Whether `decideOpened` has to decide anything on the site. Most sites need nothing. */
export function isDecidedOpen({ connection, upstream }: ConnectionSite): boolean {
  return upstream === undefined || connection.some(({ opened }) => opened !== undefined);
}

/**
 * Decides about an accepted connection when everything about it is known. The site's modules decide, then the modules
 * of internal endpoints to which the connection is forwarded. Terminates TLS afterwards if the modules could have done
 * so and did not.
 *
 * @returns the site whose upstream the connection gets, or undefined if it ends. The last step then has the reason
 */
export async function decideOpened(
  first: ConnectionSite,
  connection: OpenConnection,
  deciding: Deciding,
): Promise<ConnectionSite | undefined> {
  const { steps } = deciding;
  let site = first;
  for (let hops = 1; ; hops += 1) {
    const to = await modulesOf(site, connection, deciding);
    if (to === "closed") return undefined;
    if (to === undefined) break;
    const next = deciding.internal(first.accountId, to);
    const name = `${to.scheme}://${to.host}:${to.port}`;
    const step = next
      ? (refuseTooManyHops(hops, name) ??
        decideConnection(next, connection.facts.source, steps, deciding.failed) ??
        refuseEarlyTls(next, connection))
      : refuseByRouter("unknown_host", `no internal endpoint is at "${name}"`);
    if (step) steps.push(step);
    if (step || !next) return undefined;
    steps.push(
      passStep("router", `forwarded to ${next.kind} ${next.id}`, {
        kind: "endpoint",
        id: next.id,
        revision: next.revision,
      }),
    );
    if (!(await tlsEnded(next.handshake, next, connection, steps))) return undefined;
    site = next;
  }
  if (!(await tlsEnded(site.lastHandshake, site, connection, steps))) return undefined;
  if (site.upstream === undefined) steps.push(withoutUpstream(site.id));
  return site;
}

/** Returns where the modules forward the connection, "closed" if they ended it, or undefined. */
async function modulesOf(
  site: ConnectionSite,
  connection: OpenConnection,
  { steps, logs, isRehearsal, failed }: Deciding,
): Promise<"closed" | InternalAddress | undefined> {
  for (const module of site.connection) {
    if (module.opened === undefined) continue;
    try {
      workOn(site.mark);
      const asked =
        isRehearsal && module.rehearseOpened ? module.rehearseOpened(connection) : module.opened(connection);
      workOn(0);
      const decision = asked instanceof Promise ? await asked : asked;
      steps.push(...decision.steps);
      logs.push(...decision.logs);
      if (decision.closes) return "closed";
      if (decision.forwardTo) return decision.forwardTo;
    } catch (error) {
      failed(error);
      steps.push(moduleFailed(error));
      return "closed";
    }
  }
  return undefined;
}

/** Terminates remaining TLS as the site demands. */
async function tlsEnded(
  handshake: Handshake | undefined,
  site: ConnectionSite,
  connection: OpenConnection,
  steps: Step[],
): Promise<boolean> {
  if (handshake === undefined || handshake.passthrough || connection.endTls === undefined) return true;
  const ended = await connection.endTls(handshake, site.certificate);
  if (!(ended instanceof Error)) return true;
  steps.push(refuseByRouter("route_broken", ended.message));
  return false;
}

/** K2: TLS was terminated before an endpoint that requires client certificates. */
function refuseEarlyTls(
  { handshake: { clientAuthorities } }: ConnectionSite,
  { facts }: OpenConnection,
): Step | undefined {
  if (clientAuthorities === undefined || facts.tls === undefined) return undefined;
  return refuseByRouter("misdirected", "the endpoint requires client certificates, but TLS was already terminated");
}
