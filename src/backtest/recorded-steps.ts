/** Reads the steps of a record as results of parts. */
import type { CapturedRequest } from "../capture/captured-request.ts";
import { catalogue, errorCode } from "../lib/errors.ts";
import type { RefusalName } from "../lib/errors.ts";
import type { StepReport } from "../routing/planes/edge-questions.ts";
import type { ReplayedRule } from "../traffic/replayed-rules.ts";
import type { Answer, Step } from "../traffic/step.ts";

const namesByCode = new Map((Object.keys(catalogue) as RefusalName[]).map((name) => [errorCode(name), name]));

/** The response that the client got from the edge, without its body. */
export function readRecordedAnswer({ decision }: CapturedRequest): Answer {
  const name = decision.errorCode === undefined ? undefined : namesByCode.get(decision.errorCode);
  if (name !== undefined && catalogue[name].status === decision.status) return { error: name };
  return { status: decision.status, headers: {}, body: "", ...(name && { refused: name }) };
}

/** Walks over the steps of a record, in the order in which a replay reaches them. */
export class RecordedSteps {
  readonly #record: CapturedRequest;
  #at = 0;

  constructor(record: CapturedRequest) {
    this.#record = record;
  }

  /** Returns the next step of the module. Does not pass over it. */
  of(by: string): Step | undefined {
    const report = this.#next((step) => step.by === by);
    return report && this.#stepOf(report);
  }

  /** Returns the recorded step of the rule, and moves to it. */
  ofRule(by: string, { label }: ReplayedRule): StepReport | undefined {
    const isOfRule = ({ by: its, reason }: StepReport): boolean =>
      its === by && reason.startsWith(label) && (reason[label.length] === ":" || reason[label.length] === " ");
    return this.#next(isOfRule);
  }

  #next(isMeant: (step: StepReport) => boolean): StepReport | undefined {
    const { steps } = this.#record.decision;
    for (let at = this.#at; at < steps.length; at += 1) {
      if (!isMeant(steps[at] as StepReport)) continue;
      this.#at = at;
      return steps[at];
    }
    return undefined;
  }

  #stepOf(report: StepReport): Step {
    const ends = report.outcome === "denied" || report.outcome === "answered";
    return ends ? { ...report, answer: readRecordedAnswer(this.#record) } : report;
  }
}

/** Returns the unmatched step of the rule with the recorded reason; "matched" for any other recorded step. */
export function readRecordedVerdict({ expressions }: ReplayedRule, { reason }: StepReport): Step | "matched" {
  for (const { unmatched, undecided } of expressions) {
    for (const step of [unmatched, undecided.skips, undecided.refuses, undecided.exceeds]) {
      if (step.reason === reason) return step;
    }
  }
  return "matched";
}

export interface RecordedAction {
  readonly reason: string;
  /** Whether the rule ended the phase at this action. */
  readonly isEnd: boolean;
}

/** Reads one action of a recorded step: `label: type: reason; type: reason`. */
export function readRecordedAction(
  { label, actions }: ReplayedRule,
  { reason, outcome }: StepReport,
  at: number,
): RecordedAction | undefined {
  let from = label.length + 2;
  for (let index = 0; index <= at; index += 1) {
    const start = `${actions[index]?.declaration.type}: `;
    if (!reason.startsWith(start, from)) return undefined;
    const following = actions[index + 1]?.declaration.type;
    const end = following === undefined ? -1 : reason.indexOf(`; ${following}: `, from + start.length);
    if (index === at) {
      const said = reason.slice(from + start.length, end < 0 ? undefined : end);
      return { reason: said, isEnd: end < 0 && (outcome === "denied" || outcome === "answered") };
    }
    if (end < 0) return undefined;
    from = end + 2;
  }
  return undefined;
}
