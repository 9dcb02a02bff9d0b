/** The agent's side of requests for captured traffic (agent-protocol, "Captured requests at agents"). */
import { runUnattended } from "../lib/boundary.ts";
import { Refusal } from "../lib/errors.ts";
import { agentRefusals } from "../lib/errors/agents.ts";
import type { AgentRefusal } from "../lib/errors/agents.ts";
import type { ExchangeCommand } from "../routing/planes/messages.ts";
import { textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import type { MuxStream } from "./mux/mux-stream.ts";
import { discard } from "./mux/mux-stream.ts";
import { streamType } from "./typed-stream.ts";

/** Maximum size of a response, bytes: two bodies in base64, and their heads. */
export const maxExchangeBytes = 1024 * 1024;
const maxIdBytes = 255;

/** Resolves with the text of an object. Rejects with a `Refusal` in `agentRefusals`. */
export type AnswerExchange = (command: ExchangeCommand) => Promise<string>;

/** Throws `Refusal` for an invalid request. */
export function parseExchangeQuestion(type: number, message: JsonObject): ExchangeCommand {
  const text = (name: string): string => textMember(message, name, maxIdBytes);
  const asked = { requestId: text("RequestId"), tunnelId: text("TunnelId") };
  if (asked.requestId === "") throw new Refusal("agent_request_invalid", "the question names no request");
  if (type === streamType.exchange) return { name: "exchange", ...asked, exchangeId: text("ExchangeId") };
  const replayId = text("ReplayId");
  if (replayId === "") throw new Refusal("agent_request_invalid", "the replay has no id");
  return { name: "replay", ...asked, replayId };
}

/** Sends the response on the stream and ends it. Resets the stream for errors and for invalid requests. */
export function answerExchange(
  stream: MuxStream,
  type: number,
  message: JsonObject,
  answer: AnswerExchange,
  bug: (error: unknown) => void,
): void {
  const say = (text: string): void => {
    stream.receiver = discard;
    stream.write(Buffer.from(text));
    stream.end();
  };
  const answered = Promise.try(() => answer(parseExchangeQuestion(type, message)))
    .then(say)
    .catch((error: unknown) => {
      if (isAgentRefusal(error)) return say(JSON.stringify({ refused: error.reason }));
      if (!(error instanceof Refusal)) bug(error);
      stream.abort();
    });
  runUnattended("message", answered, () => stream.abort());
}

function isAgentRefusal(error: unknown): error is Refusal & { readonly reason: AgentRefusal } {
  return error instanceof Refusal && (agentRefusals as readonly string[]).includes(error.reason);
}
