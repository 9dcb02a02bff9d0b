/** What the edges could not put into effect. */
import type { Log } from "../../lib/log.ts";
import type { Problem } from "../../routing/planes/messages.ts";
import type { EdgeLine, EdgeObserver } from "./edges.ts";

export interface EdgeProblems extends EdgeObserver {
  /** Each once, however many edges have it. */
  all(): readonly Problem[];
  /** Each counted once, however many edges have it. */
  count(): number;
}

export function trackProblems(log: Log): EdgeProblems {
  const byLine = new Map<EdgeLine, Map<string, Problem>>();
  const all = (): readonly Problem[] => [
    ...new Map([...byLine.values()].flatMap((problems) => [...problems])).values(),
  ];
  return {
    all,
    count: () => all().length,
    receive(message, line) {
      // The first configuration that it loads is followed by everything that it cannot do.
      if (message.type === "hello" || message.type === "gone") byLine.delete(line);
      if (message.type !== "problems") return;
      const problems = byLine.get(line) ?? new Map<string, Problem>();
      byLine.set(line, problems);
      for (const problem of message.problems) note(problems, problem, log);
    },
  };
}

function note(problems: Map<string, Problem>, problem: Problem, log: Log): void {
  const { kind, id, module, message } = problem;
  const key = `${kind} ${id} ${module ?? ""}`;
  if (message === undefined) {
    problems.delete(key);
    return;
  }
  problems.set(key, problem);
  log.warn("configuration could not be put into effect", { kind, id, module, error: message });
}
