/** What an edge says to its control plane, or to another node's: to questions, and to commands for agents. */
import { Refusal } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import type { Relayed, RelayedAnswer, SessionCommand } from "../../routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";

export interface AnswersOptions {
  /** Passes a command on to an agent. Rejects with `Refusal`. */
  readonly command: (sessionId: string, command: SessionCommand) => Promise<void>;
  /** What the edge says when it is asked something. */
  readonly reply: (question: EdgeQuestion) => Promise<EdgeAnswer>;
  readonly log: Log;
}

type CommandError = NonNullable<Extract<RelayedAnswer, { readonly type: "command_result" }>["error"]>;

/** Never rejects. */
export function makeAnswers({ command, reply, log }: AnswersOptions): (message: Relayed) => Promise<RelayedAnswer> {
  return async (message) => {
    const { call } = message;
    if (message.type === "question") {
      const { question } = message;
      try {
        return { type: "answer", call, answer: await reply(question) };
      } catch (error) {
        log.error("question not answered", { question: question.name, error });
        return { type: "answer", call, answer: undefined };
      }
    }
    try {
      await command(message.sessionId, message.command);
      return { type: "command_result", call };
    } catch (error) {
      return { type: "command_result", call, error: commandError(error, log) };
    }
  };
}

function commandError(error: unknown, log: Log): CommandError {
  if (error instanceof Refusal) {
    const { reason, message } = error;
    if (reason === "command_unsupported" || reason === "command_timeout" || reason === "not_found") {
      return { reason, message };
    }
    return { reason: "command_failed", message };
  }
  log.error("command failed", { error });
  return { reason: "command_failed", message: "the edge could not pass the command on" };
}
