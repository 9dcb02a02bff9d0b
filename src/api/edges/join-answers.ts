/** Combines the answers of several edges to one question. */
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";

/** Returns undefined if no edge answered. */
export function joinAnswers(question: EdgeQuestion, answers: readonly EdgeAnswer[]): EdgeAnswer | undefined {
  if (question.name === "requests") {
    const lists = answers.filter((answer) => answer.name === "requests");
    const { found, more } = joinLists(question.limit, lists, ({ requests }) => requests);
    return lists.length < 2 ? (lists.at(0) ?? answers.at(0)) : { name: "requests", requests: found, more };
  }
  if (question.name === "connections") {
    const lists = answers.filter((answer) => answer.name === "connections");
    const { found, more } = joinLists(question.limit, lists, ({ connections }) => connections);
    return lists.length < 2 ? (lists.at(0) ?? answers.at(0)) : { name: "connections", connections: found, more };
  }
  // Only one edge knows a request or an agent's endpoint. Answers of the other edges add nothing.
  return answers.find(knows) ?? answers.at(0);
}

function knows(answer: EdgeAnswer): boolean {
  switch (answer.name) {
    case "explanation":
      return true;
    case "requests":
      return answer.requests.length > 0;
    case "connections":
      return answer.connections.length > 0;
    default:
      return false;
  }
}

/** Newest first, as in each edge's list. */
function joinLists<List extends { readonly more: boolean }, Trace extends { readonly id: string }>(
  limit: number,
  lists: readonly List[],
  tracesOf: (list: List) => readonly Trace[],
): { readonly found: readonly Trace[]; readonly more: boolean } {
  const all = lists.flatMap(tracesOf).sort((left, right) => (left.id < right.id ? 1 : -1));
  return { found: all.slice(0, limit), more: all.length > limit || lists.some(({ more }) => more) };
}
