/** Calls to the edge that are answered: commands for agents, questions about its traffic, and its metrics. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Downward, Link, SessionCommand, Upward } from "../../routing/planes/messages.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Reply } from "../operation/call.ts";

export interface Commands {
  /** Carries `command` to the agent of `session`. Rejects with `Refusal` when it fails or is not answered. */
  send(session: StoredObject, command: SessionCommand): Promise<Reply>;
  /** Asks the edge. Rejects with `Refusal` (edge_silent) when it does not answer in time. */
  ask(question: EdgeQuestion): Promise<EdgeAnswer>;
  /** The edge's metrics in text form; "" when it does not answer in time. */
  metrics(): Promise<string>;
  /** Takes in an answer; returns whether it was one. */
  receive(message: Upward): boolean;
}

const commandTimeoutMs = 15_000;
const metricsTimeoutMs = 1_000;
const questionTimeoutMs = 10_000;
/** Calls under way; beyond it they are refused at once. */
const maxCalls = 1_000;

type Answer = Extract<Upward, { type: "command_result" | "metrics" | "answer" }>;

export function makeCommands(link: Pick<Link<Downward, Upward>, "send">, clock: Clock): Commands {
  const waiting = new Map<number, (answer: Answer | undefined) => void>();
  let lastCall = 0;
  const ask = (message: (call: number) => Downward, timeoutMs: number): Promise<Answer | undefined> => {
    if (waiting.size >= maxCalls) return Promise.resolve(undefined);
    const call = (lastCall += 1);
    return new Promise((resolve) => {
      const timer = clock.after(timeoutMs, () => {
        waiting.delete(call);
        resolve(undefined);
      });
      waiting.set(call, (answer) => {
        timer.cancel();
        waiting.delete(call);
        resolve(answer);
      });
      link.send(message(call));
    });
  };
  return {
    async send(session, command) {
      const answer = await ask((call) => ({ type: "command", call, sessionId: session.id, command }), commandTimeoutMs);
      if (answer?.type !== "command_result") throw new Refusal("command_timeout");
      if (answer.error)
        throw new Refusal(answer.error.reason, `${command.name} ${session.id}: ${answer.error.message}`);
      return { status: 204 };
    },
    async ask(question) {
      const answer = await ask((call) => ({ type: "question", call, question }), questionTimeoutMs);
      if (answer?.type !== "answer" || answer.answer === undefined) throw new Refusal("edge_silent");
      return answer.answer;
    },
    async metrics() {
      const answer = await ask((call) => ({ type: "metrics_request", call }), metricsTimeoutMs);
      return answer?.type === "metrics" ? answer.text : "";
    },
    receive(message) {
      if (message.type !== "command_result" && message.type !== "metrics" && message.type !== "answer") return false;
      waiting.get(message.call)?.(message);
      return true;
    },
  };
}
