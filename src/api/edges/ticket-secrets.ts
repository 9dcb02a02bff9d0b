/**
 * Gives all edges the same secret for TLS session tickets: of this server, or of all nodes. It is only in memory, and
 * sealed in the database that nodes share.
 */
import { randomBytes } from "node:crypto";
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Membership } from "../../storage/cluster/membership.ts";
import type { EdgeObserver, Edges } from "./edges.ts";

export interface TicketSecretsOptions {
  readonly edges: Pick<Edges, "joined">;
  /** Undefined for a server without a cluster. */
  readonly node: Pick<Membership, "ticketSecret"> | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export interface TicketSecrets extends EdgeObserver {
  stop(): void;
}

const lifetimeMs = 8 * 60 * 60 * 1000;
/** Pause after a failure. Edges replace a secret that is too old. */
const againMs = 10_000;

export function keepTicketSecrets({ edges, node, clock, log }: TicketSecretsOptions): TicketSecrets {
  let secret: string | undefined;
  let next: Timer | undefined;
  let isStopped = false;
  const renew = async (): Promise<number> => {
    const fresh = randomBytes(32).toString("base64");
    const { secret: shared, leftMs } = (await node?.ticketSecret(fresh)) ?? { secret: fresh, leftMs: lifetimeMs };
    secret = shared;
    for (const line of edges.joined()) line.send({ type: "ticket_secret", secret });
    return leftMs;
  };
  const work = async (): Promise<void> => {
    const pauseMs = await renew().catch((error: unknown) => {
      log.debug("session tickets have no new secret", { error });
      return againMs;
    });
    if (!isStopped) next = clock.after(pauseMs, () => runUnattended("task", work()));
  };
  runUnattended("task", work());
  return {
    receive(message, line) {
      if (message.type === "hello" && secret !== undefined) line.send({ type: "ticket_secret", secret });
    },
    stop() {
      isStopped = true;
      next?.cancel();
    },
  };
}
