/** Collects what the edges could not apply, and conditions that the server itself waits for. */
import type { Log } from "../../lib/log.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";
import { problemWithoutSecrets } from "./problem-text.ts";
import type { SharedProblems } from "./shared-problems.ts";

export interface EdgeProblems extends EdgeObserver {
  /**
   * Returns each problem once, even if several edges of several servers have it. Includes everything that other servers
   * have reported so far.
   */
  all(): Promise<readonly Problem[]>;
  /** Returns the number of this server's problems with the configuration, each counted once. */
  count(): number;
  /** Reports a problem of the server itself. Without a message, the problem is resolved. */
  tell(problem: Problem): void;
}

export function trackProblems(log: Log, shared: SharedProblems): EdgeProblems {
  const byLine = new Map<EdgeLine, Map<string, Problem>>();
  const ofServer = new Map<string, Problem>();
  const own = (): readonly Problem[] =>
    withoutDuplicates([...ofServer.values(), ...[...byLine.values()].flatMap((problems) => [...problems.values()])]);
  return {
    async all() {
      await shared.refresh();
      return withoutDuplicates([...own(), ...shared.others()]);
    },
    // Certificates have metrics of their own. Data about addresses, which `module` names for the account, are no configuration.
    count: () =>
      own().filter(({ kind, module }) => kind !== "reserved_domain" && !(kind === "account" && module)).length,
    tell(problem) {
      if (problem.message === undefined) ofServer.delete(keyOf(problem));
      else ofServer.set(keyOf(problem), problem);
      shared.tell(own());
    },
    receive(message, line) {
      // An edge reports all its problems after it loads its first configuration.
      const isOver = (message.type === "hello" || message.type === "gone") && byLine.delete(line);
      if (message.type === "problems") {
        const problems = byLine.get(line) ?? new Map<string, Problem>();
        byLine.set(line, problems);
        for (const problem of message.problems) noteProblem(problems, problem, log);
      } else if (!isOver) return;
      shared.tell(own());
    },
  };
}

/** Removes duplicates. */
function withoutDuplicates(all: readonly Problem[]): readonly Problem[] {
  const byKey = new Map<string, Problem>();
  for (const problem of all) if (!byKey.has(keyOf(problem))) byKey.set(keyOf(problem), problem);
  return [...byKey.values()];
}

function keyOf({ kind, id, module }: Problem): string {
  return `${kind} ${id} ${module ?? ""}`;
}

function noteProblem(problems: Map<string, Problem>, problem: Problem, log: Log): void {
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
