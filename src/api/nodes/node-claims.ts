/** Claims of names with several nodes: the register of this node decides first, and then the database. */
import { runUnattended } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import type { NameClaim, ClaimAnswer, NameClaims } from "../../directory/name-claims.ts";
import type { Presence } from "../../storage/cluster/presence.ts";
import type { EdgeLine } from "../edges/edges.ts";

/** Delay before a claim asks the database again about a name that another tunnel was granted. */
const againMs = 20;

/** A claim that is pending in the database, or was granted and is not yet served by the tunnel. */
interface OpenClaim {
  readonly claim: NameClaim;
  readonly line: EdgeLine;
}

export function shareNameClaims(local: NameClaims<EdgeLine>, presence: Presence, clock: Clock): NameClaims<EdgeLine> {
  const wanted = new Map<string, OpenClaim>();

  const ask = async (one: OpenClaim, answer: (answer: ClaimAnswer) => void): Promise<void> => {
    const { claim, line } = one;
    const { name, tunnelId } = claim;
    wanted.set(tunnelId, one);
    for (;;) {
      const outcome = await presence.claim(tunnelId, claim).catch(() => "lost" as const);
      // The claim was dropped meanwhile: give the grant back.
      if (wanted.get(tunnelId) !== one) return presence.drop(tunnelId, name);
      if (outcome === "granted") return answer("granted");
      if (outcome === "pending") {
        await new Promise<void>((resume) => void clock.after(againMs, resume));
        continue;
      }
      wanted.delete(tunnelId);
      // The edge must know the holder of the name before it receives the conflict.
      if (outcome === "conflict") await presence.refresh().catch(() => undefined);
      local.drop(tunnelId, line);
      return answer(outcome === "conflict" ? "conflict" : "unasked");
    }
  };
  const forget = (one: OpenClaim): void => {
    const { tunnelId, name } = one.claim;
    wanted.delete(tunnelId);
    presence.drop(tunnelId, name);
  };
  return {
    ...local,
    claim(claim, line, answer) {
      local.claim(claim, line, (said) => {
        if (said === "granted") runUnattended("task", ask({ claim, line }, answer));
        else answer(said);
      });
    },
    open(name, tunnel) {
      const one = wanted.get(tunnel.tunnelId);
      if (one?.claim.name === name) wanted.delete(tunnel.tunnelId);
      return local.open(name, tunnel);
    },
    drop(tunnelId, line) {
      const one = wanted.get(tunnelId);
      if (one?.line === line) forget(one);
      local.drop(tunnelId, line);
    },
    leave(line) {
      for (const one of wanted.values()) if (one.line === line) forget(one);
      local.leave(line);
    },
  };
}
