/** Combines the answers of several edges to one question. */
import { joinNewest } from "../../lib/collections/join-newest.ts";
import type { NewestFirst } from "../../lib/collections/join-newest.ts";
import { timeOfId } from "../../lib/traffic-ids.ts";
import type { Missing } from "../../routing/planes/missing-records.ts";
import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/edge-questions.ts";

const silent = { reason: "silent" } as const;

/**
 * Returns undefined if no edge answered.
 * @param isSilent whether an edge has not answered
 */
export function joinAnswers(
  question: EdgeQuestion,
  answers: readonly EdgeAnswer[],
  isSilent = false,
): EdgeAnswer | undefined {
  if (question.name === "requests") {
    const lists = answers.filter((answer) => answer.name === "requests");
    const joined = joinLists(question.limit, lists, ({ requests }) => requests);
    const missing = joinMissing([isSilent ? silent : undefined, ...lists.map((one) => one.missing)]);
    if (lists.length === 0) return answers.at(0);
    const { found, more } = missing?.searchedTo === undefined ? joined : dropUnsearched(missing.searchedTo, joined);
    return { name: "requests", requests: found, more, missing };
  }
  if (question.name === "connections") {
    const lists = answers.filter((answer) => answer.name === "connections");
    const { found, more } = joinLists(question.limit, lists, ({ connections }) => connections);
    if (lists.length === 0) return answers.at(0);
    return { name: "connections", connections: found, more, missing: isSilent ? silent : undefined };
  }
  // Only one edge knows a request or an agent's endpoint. Answers of the other edges add nothing.
  return answers.find(hasAnswer) ?? answers.find(isIncomplete) ?? answers.at(0);
}

function hasAnswer(answer: EdgeAnswer): boolean {
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

/** Returns what a list lacks that joins several: the latest of the times, unless one of them cannot continue. */
function joinMissing(all: readonly (Missing | undefined)[]): Missing | undefined {
  const some = all.filter((one) => one !== undefined);
  const final = some.find(({ reason }) => reason !== "time");
  if (final !== undefined || some.length === 0) return final;
  return { reason: "time", searchedTo: Math.max(...some.map(({ searchedTo = Infinity }) => searchedTo)) };
}

/** Removes requests from before `searchedTo`, because some node has not searched there yet. The next page has them. */
function dropUnsearched<One extends { readonly id: string }>(
  searchedTo: number,
  { found }: NewestFirst<One>,
): NewestFirst<One> {
  return { found: found.filter(({ id }) => (timeOfId(id) ?? Infinity) >= searchedTo), more: true };
}

/** Whether an edge could not look everywhere for a request. */
function isIncomplete(answer: EdgeAnswer): boolean {
  return answer.name === "requests" && answer.missing !== undefined;
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
