/** What an agent is told to do: update itself, stop, or connect anew. */
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { SessionCommand } from "../routing/planes/messages.ts";
import { call, CallTimeout } from "./call.ts";
import type { TunnelLimits } from "./limits.ts";
import type { AuthMessage } from "./messages.ts";
import type { Mux } from "./mux/mux.ts";
import { streamType } from "./typed-stream.ts";
import { parseWireError } from "./wire-error.ts";

/** Where an agent is reached. */
interface Reached {
  readonly mux: Mux;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
}

/**
 * Resolves when the agent has taken the command. Rejects with a `Refusal`: `command_unsupported` where it has said that it
 * takes none of these, `command_timeout`, or `command_failed` with what it answers.
 */
export function commandAgent(at: Reached, agent: AuthMessage, command: SessionCommand): Promise<void> {
  const why = agent.unsupported[command.name];
  if (why !== "") return Promise.reject(new Refusal("command_unsupported", why));
  const question = command.name === "update" ? { Version: command.version, PermitMajorVersion: false } : {};
  return new Promise((resolve, reject) => {
    call(at.mux, at.clock, streamType[command.name], question, at.limits.commandMs, (error, answer) => {
      if (error instanceof CallTimeout) return reject(new Refusal("command_timeout"));
      if (error) return reject(new Refusal("command_failed", `The agent gave no answer: ${error.message}.`));
      const failure = typeof answer["Error"] === "string" ? answer["Error"] : "";
      if (failure === "") return resolve();
      reject(new Refusal("command_failed", `The agent answered: ${parseWireError(failure).message}`));
    });
  });
}

/** Has an agent of ours connect elsewhere, and keep what it has here until that is done; others are not told. */
export function moveAgentAway({ mux, clock, limits }: Reached, agent: AuthMessage): void {
  if (agent.kind !== "postern" || agent.unsupported.restart !== "") return;
  call(mux, clock, streamType.restart, { Drain: true }, limits.commandMs, () => {});
}
