/** Agents that join with the secret of an invitation. The control plane checks it and creates their token. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { AgentJoined, Upward } from "../../routing/planes/messages.ts";
import type { JoinRequest } from "../../tunnel/server-hooks.ts";

export interface Joining {
  /** Rejects with `Refusal` (agent_code_unknown, agent_join_unavailable). */
  join(request: JoinRequest): Promise<AgentJoined>;
  /**
   * Receives the control plane's answer to `call`: null if the code is invalid, undefined if the control plane cannot
   * tell.
   */
  joined(call: number, joined: AgentJoined | null | undefined): void;
}

/** Maximum time for the answer, milliseconds. Shorter than an agent's time to authenticate. */
const answerMs = 8_000;
/** Maximum number of requests that wait for the control plane, over all addresses. */
const maxWaiting = 64;

export function makeJoining(report: (message: Upward) => void, clock: Clock): Joining {
  const waiting = new Map<number, (joined: AgentJoined | null | undefined) => void>();
  let lastCall = 0;
  return {
    async join({ secretHash, name, ip }) {
      if (waiting.size >= maxWaiting) throw new Refusal("agent_join_unavailable");
      const call = (lastCall += 1);
      const { promise, resolve } = Promise.withResolvers<AgentJoined | null | undefined>();
      const timer = clock.after(answerMs, () => resolve(undefined));
      waiting.set(call, resolve);
      report({ type: "join", call, secretHash, name, ip });
      const joined = await promise;
      timer.cancel();
      waiting.delete(call);
      if (joined === undefined) throw new Refusal("agent_join_unavailable");
      if (joined === null) throw new Refusal("agent_code_unknown");
      return joined;
    },
    joined: (call, joined) => waiting.get(call)?.(joined),
  };
}
