/** Combines the answers of several edges to one question. */
import { joinNewest } from "../../lib/collections/join-newest.ts";
import type { NewestFirst } from "../../lib/collections/join-newest.ts";
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

function joinLists<List extends { readonly more: boolean }, Trace extends { readonly id: string }>(
  limit: number,
  lists: readonly List[],
  tracesOf: (list: List) => readonly Trace[],
): NewestFirst<Trace> {
  return joinNewest(
    limit,
    lists.map((list) => ({ found: tracesOf(list), more: list.more })),
  );
}
