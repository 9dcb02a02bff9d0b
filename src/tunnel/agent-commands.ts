/** Commands to an agent: update, stop, reconnect, or note that a tunnel has ended. Also questions to it. */
import type { Clock } from "../lib/clock.ts";
import { Refusal } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { ExchangeCommand, SessionCommand, SessionPulse } from "../routing/planes/messages.ts";
import { sendRequest, CallTimeout, renderMessage } from "./agent-call.ts";
import { maxExchangeBytes } from "./exchange-question.ts";
import type { Heartbeat } from "./agent-heartbeat.ts";
import type { TunnelLimits } from "./tunnel-limits.ts";
import type { AuthMessage } from "./tunnel-messages.ts";
import type { Mux } from "./mux/mux.ts";
import { discard } from "./mux/mux-stream.ts";
import { WholeReader } from "./whole-reader.ts";
import { streamType } from "./typed-stream.ts";
import { parseWireError, wireCode } from "./wire-error.ts";

/** Connection to an agent. */
interface Reached {
  readonly mux: Mux;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
}

/** Sends a command or a question to an agent: see `sendCommand` and `askAgent`. */
export function commandAgent(
  at: Reached,
  agent: AuthMessage,
  command: SessionCommand | ExchangeCommand,
): Promise<string | undefined> {
  if (command.name === "exchange" || command.name === "replay") return askAgent(at, agent, command);
  return sendCommand(at, agent, command).then(() => undefined);
}

/**
 * Resolves with the agent's response as text. It is not parsed here, because large texts would take the thread's time
 * from traffic. Rejects with a `Refusal`: `exchange_unsupported` if the agent answers no questions; `command_timeout`,
 * after which a replay may still run; `exchange_agent_gone`; or `command_failed` if the response is incomplete or too
 * long.
 */
function askAgent({ mux, clock, limits }: Reached, agent: AuthMessage, command: ExchangeCommand): Promise<string> {
  if (!agent.keepsExchanges) return Promise.reject(new Refusal("exchange_unsupported"));
  const stream = mux.open();
  if (!stream) return Promise.reject(new Refusal("exchange_agent_gone"));
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = clock.after(limits.exchangeMs, () => {
      isLate = true;
      stream.abort();
    });
    stream.receiver = new WholeReader(stream, maxExchangeBytes, (bytes) => {
      timer.cancel();
      if (bytes) resolve(bytes.toString());
      else if (isLate) reject(new Refusal("command_timeout"));
      else if (mux.over) reject(new Refusal("exchange_agent_gone"));
      else
        reject(
          new Refusal("command_failed", `The agent's answer is incomplete, or longer than ${maxExchangeBytes} bytes.`),
        );
    });
    const isReplay = command.name === "replay";
    const own = isReplay ? { ReplayId: command.replayId } : { ExchangeId: command.exchangeId };
    const question = { RequestId: command.requestId, TunnelId: command.tunnelId, ...own };
    stream.write(renderMessage(isReplay ? streamType.replay : streamType.exchange, question));
  });
}

/** Resolves with the text of a `SessionPulse` within `commandMs`. */
export function askPulse({ mux, clock, limits }: Reached, heartbeat: Heartbeat | undefined): Promise<string> {
  return new Promise((resolve) => {
    const done = (_isThere: boolean, latencyMs?: number): void => {
      const heardAt = clock.now() - Math.round(clock.monotonic() - mux.heardAt);
      resolve(JSON.stringify({ latencyMs: latencyMs ?? null, heardAt } satisfies SessionPulse));
    };
    if (heartbeat) heartbeat.ask(limits.commandMs, done);
    else done(false);
  });
}

/**
 * Resolves when the agent has accepted the command. Rejects with a `Refusal`: `command_unsupported` if the agent
 * declared no support, `command_timeout`, or `command_failed` with the agent's error.
 */
function sendCommand(at: Reached, agent: AuthMessage, command: SessionCommand): Promise<void> {
  const why = agent.unsupported[command.name];
  if (why !== "") return Promise.reject(new Refusal("command_unsupported", why));
  const question = command.name === "update" ? { Version: command.version, PermitMajorVersion: false } : {};
  return new Promise((resolve, reject) => {
    sendRequest(at.mux, at.clock, streamType[command.name], question, at.limits.commandMs, (error, answer) => {
      if (error instanceof CallTimeout) return reject(new Refusal("command_timeout"));
      if (error) return reject(new Refusal("command_failed", `The agent gave no answer: ${error.message}.`));
      const failure = typeof answer["Error"] === "string" ? answer["Error"] : "";
      if (failure === "") return resolve();
      reject(new Refusal("command_failed", `The agent answered: ${parseWireError(failure).message}`));
    });
  });
}

/**
 * Makes a Postern agent connect elsewhere; its session here stays open until then. Returns false for other agents, which
 * are not affected.
 */
export function moveAgentAway({ mux, clock, limits }: Reached, agent: AuthMessage): boolean {
  if (agent.kind !== "postern" || agent.unsupported.restart !== "") return false;
  sendRequest(mux, clock, streamType.restart, { Drain: true }, limits.commandMs, () => {});
  return true;
}

/** Notifies the agent that a tunnel has ended, and why. Protocol versions before 3 have no such message. */
export function notifyStopped(mux: Mux, agent: AuthMessage, id: string, message: string, reason: RefusalName): void {
  const stream = agent.version === "3" ? mux.open() : undefined;
  if (!stream) return;
  stream.receiver = discard;
  stream.write(renderMessage(streamType.stopTunnel, { Id: id, Message: message, ErrorCode: wireCode(reason) }));
  stream.end();
}
