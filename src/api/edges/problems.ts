/** What the edges could not put into effect, and what the server itself waits for. */
import type { Log } from "../../lib/log.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { problemWithoutSecrets } from "./problem-text.ts";
import type { SharedProblems } from "./shared-problems.ts";

export interface EdgeProblems extends EdgeObserver {
  /** Each once, however many edges of whichever server have it, as far as the others have told by now. */
  all(): Promise<readonly Problem[]>;
  /** Those of this server's edges. Each counted once, however many have it. */
  count(): number;
  /** One of the server itself; without a message it is over. */
  tell(problem: Problem): void;
}

export function trackProblems(log: Log, shared: SharedProblems): EdgeProblems {
  const byLine = new Map<EdgeLine, Map<string, Problem>>();
  const ofServer = new Map<string, Problem>();
  const own = (): readonly Problem[] =>
    each([...ofServer.values(), ...[...byLine.values()].flatMap((problems) => [...problems.values()])]);
  return {
    async all() {
      await shared.refresh();
      return each([...own(), ...shared.others()]);
    },
    count: () => own().length,
    tell(problem) {
      if (problem.message === undefined) ofServer.delete(keyOf(problem));
      else ofServer.set(keyOf(problem), problem);
      shared.tell(own());
    },
    receive(message, line) {
      // The first configuration that it loads is followed by everything that it cannot do.
      const isOver = (message.type === "hello" || message.type === "gone") && byLine.delete(line);
      if (message.type === "problems") {
        const problems = byLine.get(line) ?? new Map<string, Problem>();
        byLine.set(line, problems);
        for (const problem of message.problems) note(problems, problem, log);
      } else if (!isOver) return;
      shared.tell(own());
    },
  };
}

/** Each once. */
function each(all: readonly Problem[]): readonly Problem[] {
  const byKey = new Map<string, Problem>();
  for (const problem of all) if (!byKey.has(keyOf(problem))) byKey.set(keyOf(problem), problem);
  return [...byKey.values()];
}

function keyOf({ kind, id, module }: Problem): string {
  return `${kind} ${id} ${module ?? ""}`;
}

function note(problems: Map<string, Problem>, problem: Problem, log: Log): void {
  const { kind, id, module, message } = problem;
  const key = keyOf(problem);
  if (message === undefined) {
    problems.delete(key);
    return;
  }
  problems.set(key, problem);
  const error = problemWithoutSecrets(kind, module, message);
  log.warn("configuration could not be applied", { kind, id, module, error });
}
