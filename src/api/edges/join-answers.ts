/** What several edges answer to one question, as one answer. */
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";

/** Undefined when nobody answered. */
export function joinAnswers(question: EdgeQuestion, answers: readonly EdgeAnswer[]): EdgeAnswer | undefined {
  if (question.name === "requests") return joinRequests(question.limit, answers);
  // Only one edge saw a request or has an agent's endpoint; those that know nothing of it have nothing to add.
  return answers.find(knows) ?? answers.at(0);
}

function knows(answer: EdgeAnswer): boolean {
  return answer.name === "explanation" || (answer.name === "requests" && answer.requests.length > 0);
}

/** Newest first, as each edge lists its own. */
function joinRequests(limit: number, answers: readonly EdgeAnswer[]): EdgeAnswer | undefined {
  const lists = answers.filter((answer) => answer.name === "requests");
  if (lists.length < 2) return lists.at(0) ?? answers.at(0);
  const all = lists.flatMap(({ requests }) => requests).sort((left, right) => (left.id < right.id ? 1 : -1));
  const more = all.length > limit || lists.some((list) => list.more);
  return { name: "requests", requests: all.slice(0, limit), more };
}
