/** Runs the rules of `on_event_stream_message` on each message of a response that is an event stream. */
import type { Transform } from "node:stream";
import { resumeMark, captureWork } from "../lib/heartbeat.ts";
import type { Exchange, ResponseHead } from "../traffic/exchange.ts";
import { denyStep } from "../traffic/step.ts";
import type { Step } from "../traffic/step.ts";
import { policyModuleName } from "./compile-policy.ts";
import type { CompiledRule } from "./compiled-policy.ts";
import type { PolicyContext } from "./language/policy-context.ts";
import { makeEventStream, maxMessageBytes } from "./parts/change-events.ts";
import { explainHidden } from "./parts/readable-body.ts";
import { runRules } from "./run-rules.ts";
import type { RuleStates } from "./run-rules.ts";

/** Maximum messages of one stream whose rules appear in the trace. A stream may have any number of messages. */
const maxTold = 3;

/**
 * Attaches the rules to the response if it is an event stream. Call this before anything else that changes the body: a
 * compressed body has no readable messages.
 *
 * @param halts messages that the rules cannot read must not pass
 * @returns the step that rejects the whole stream
 */
export function watchMessages(
  rules: readonly CompiledRule[],
  states: RuleStates,
  context: PolicyContext,
  response: ResponseHead,
  halts: boolean,
): Step | undefined {
  const { steps } = context.exchange as Exchange;
  if (!isEventStream(response)) return undefined;
  if (explainHidden(response.headers) !== undefined) {
    if (halts) return unreadStream;
    steps.push(makeMessageStep("skipped", "the event stream is compressed: its messages pass unchanged", true));
    return undefined;
  }
  response.transform(() => messageStage(rules, states, context, steps, halts));
  return undefined;
}

const unreadStream = denyStep(
  policyModuleName,
  "message_replacement_failed",
  "the event stream is compressed or not UTF-8: its rules cannot read the messages",
);

function isEventStream({ headers }: ResponseHead): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

function messageStage(
  rules: readonly CompiledRule[],
  states: RuleStates,
  context: PolicyContext,
  steps: Step[],
  halts: boolean,
): Transform {
  const counts = { seen: 0, changed: 0, long: 0 };
  return makeEventStream({
    tooLong() {
      counts.long += 1;
      if (!halts) return;
      steps.push(
        makeMessageStep("denied", `a message is longer than ${maxMessageBytes} bytes: the event stream ends`, true),
      );
      throw new Error("a message of the event stream is too long for the traffic policy to read");
    },
    change: resumeMark(async (message: Buffer) => {
      const inSameWork = captureWork();
      counts.seen += 1;
      context.enterMessage(message);
      const end = inSameWork(await runRules(rules, states, context, counts.seen <= maxTold ? steps : []));
      // The stream has already begun, so the client can only learn that it is incomplete.
      if (end) throw new Error("a rule of the traffic policy ended the event stream");
      const changed = context.message ?? message;
      if (changed !== message) counts.changed += 1;
      return changed;
    }),
    ended() {
      if (counts.seen + counts.long === 0) return;
      const long = counts.long === 0 ? "" : `, ${counts.long} longer than ${maxMessageBytes} bytes and unchanged`;
      const outcome = counts.changed === 0 ? "passed" : "changed";
      steps.push(
        makeMessageStep(outcome, `${counts.seen} messages of an event stream, ${counts.changed} changed${long}`),
      );
    },
  });
}

function makeMessageStep(outcome: Step["outcome"], reason: string, failed = false): Step {
  return { by: policyModuleName, outcome, reason, ...(failed && { failed }) };
}
