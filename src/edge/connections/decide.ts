import { workOn } from "../../lib/heartbeat.ts";
import type { InternalAddress } from "../../lib/internal-names.ts";
import type { Handshake } from "../../traffic/handshake.ts";
import type { OpenConnection } from "../../traffic/open-connection.ts";
import { passed } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import type { ConnectionSite } from "../../routing/sites/compiled.ts";
import { moduleFailed, refused, tooManyHops, withoutUpstream } from "../../routing/sites/refusals.ts";

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
  /** An internal endpoint of the account, now. */
  readonly internal: (accountId: string, address: InternalAddress) => ConnectionSite | undefined;
  /** Told of a module that has thrown. */
  failed(error: unknown): void;
}

/** Whether `decideOpened` has anything to decide on the site: most have nothing. */
export function isDecidedOpen({ connection, upstream }: ConnectionSite): boolean {
  return upstream === undefined || connection.some(({ opened }) => opened !== undefined);
}

/**
 * What is decided over a connection that was let in, once everything is known of it: by the site's modules, and by those
 * of internal endpoints that it is forwarded to. TLS that modules were left to end and did not is ended behind them.
 *
 * @returns the site whose upstream it gets; undefined when it ends there, and the last step says why
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
      ? (tooManyHops(hops, name) ??
        decideConnection(next, connection.facts.source, steps, deciding.failed) ??
        endedTooSoon(next, connection))
      : refused("unknown_host", `no internal endpoint is at "${name}"`);
    if (step) steps.push(step);
    if (step || !next) return undefined;
    steps.push(
      passed("router", `forwarded to ${next.kind} ${next.id}`, {
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

/** "closed", where it is forwarded to, or undefined. */
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

/** Ends TLS, where there is any left, as the site demands. */
async function tlsEnded(
  handshake: Handshake | undefined,
  site: ConnectionSite,
  connection: OpenConnection,
  steps: Step[],
): Promise<boolean> {
  if (handshake === undefined || handshake.passthrough || connection.endTls === undefined) return true;
  const ended = await connection.endTls(handshake, site.certificate);
  if (!(ended instanceof Error)) return true;
  steps.push(refused("route_broken", ended.message));
  return false;
}

/** K2: TLS was ended before an endpoint that has clients show certificates. */
function endedTooSoon(
  { handshake: { clientAuthorities } }: ConnectionSite,
  { facts }: OpenConnection,
): Step | undefined {
  if (clientAuthorities === undefined || facts.tls === undefined) return undefined;
  return refused("misdirected", "the endpoint requires client certificates, but TLS was already terminated");
}
