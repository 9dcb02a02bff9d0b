/** An edge's answers to its control plane, or to another node's: to questions, and to commands for agents. */
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { AgentCommand, CommandFailure, Relayed, RelayedAnswer } from "../../routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/edge-questions.ts";

export interface AnswersOptions {
  /**
   * Passes a command to an agent. Resolves with the agent's answer if the command is a question. Rejects with
   * `Refusal`.
   */
  readonly command: (sessionId: string, command: AgentCommand) => Promise<string | undefined>;
  /** Answers a question for the edge itself. */
  readonly reply: (question: EdgeQuestion) => Promise<EdgeAnswer>;
  readonly log: Log;
}

type CommandError = NonNullable<Extract<RelayedAnswer, { readonly type: "command_result" }>["error"]>;

/** Refusals that are reported unchanged. */
const namedFailures: readonly string[] = [
  "command_unsupported",
  "command_timeout",
  "not_found",
  "exchange_unsupported",
  "exchange_agent_gone",
  "exchange_busy",
] satisfies CommandFailure[];

/** The returned function never rejects. */
export function makeAnswers({ command, reply, log }: AnswersOptions): (message: Relayed) => Promise<RelayedAnswer> {
  return async (message) => {
    const { call } = message;
    if (message.type === "question") {
      const { question } = message;
      try {
        return { type: "answer", call, answer: await reply(question) };
      } catch (error) {
        log.error("command or question not answered", { question: question.name, error });
        return { type: "answer", call, answer: undefined };
      }
    }
    try {
      const text = await command(message.sessionId, message.command);
      return { type: "command_result", call, ...(text !== undefined && { text }) };
    } catch (error) {
      return { type: "command_result", call, error: commandError(error, log) };
    }
  };
}

function commandError(error: unknown, log: Log): CommandError {
  if (error instanceof Refusal) {
    const { reason, message } = error;
    return { reason: namedFailures.includes(reason) ? (reason as CommandFailure) : "command_failed", message };
  }
  log.error("command failed", { error });
  return { reason: "command_failed", message: "the edge could not forward the command" };
}
