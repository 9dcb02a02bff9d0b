import type { EdgeAnswer, EdgeQuestion, Standing } from "../../routing/planes/questions.ts";
import type { EdgeExplainer } from "./explain.ts";
import type { OwnSeries } from "./own-series.ts";
import type { Reached } from "./reached.ts";
import type { AllTraces } from "../watch/observers.ts";

/** Returns the edge's replies to questions of the control plane. */
export function makeReplies(
  { requests, connections }: AllTraces,
  explainer: EdgeExplainer,
  reached: Reached,
  standing: () => Standing,
  series: Pick<OwnSeries, "ask">,
): (question: EdgeQuestion) => Promise<EdgeAnswer> {
  return async (question) => {
    switch (question.name) {
      case "standing":
        return { name: "standing", standing: standing() };
      case "reached":
        return { name: "reached", isReached: await reached.wait(question, question.timeoutMs) };
      case "request": {
        const found = requests.find(question.accountId, question.id);
        return found ? { name: "requests", requests: [found], more: false } : { name: "unknown" };
      }
      case "requests": {
        const { found, more } = requests.list(question.accountId, question.limit, question.beforeId, question);
        return { name: "requests", requests: found, more };
      }
      case "connection": {
        const found = connections.find(question.accountId, question.id);
        return found ? { name: "connections", connections: [found], more: false } : { name: "unknown" };
      }
      case "connections": {
        const { found, more } = connections.list(question.accountId, question.limit, question.beforeId, question);
        return { name: "connections", connections: found, more };
      }
      case "series":
        return await series.ask(question);
      case "explain_request":
        return await explainer.request(question);
      case "explain_connection":
        return await explainer.connection(question);
    }
  };
}
