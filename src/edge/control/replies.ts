import type { EdgeAnswer, EdgeQuestion } from "../../routing/planes/questions.ts";
import type { EdgeExplainer } from "./explain.ts";
import type { Traces } from "../watch/traces.ts";

/** What the edge replies when the control plane asks it something. */
export function makeReplies(traces: Traces, explainer: EdgeExplainer): (question: EdgeQuestion) => Promise<EdgeAnswer> {
  return async (question) => {
    switch (question.name) {
      case "request": {
        const found = traces.find(question.accountId, question.id);
        return found ? { name: "requests", requests: [found], more: false } : { name: "unknown" };
      }
      case "requests":
        return { name: "requests", ...traces.list(question.accountId, question.limit, question.beforeId) };
      case "explain_request":
        return await explainer.request(question);
      case "explain_connection":
        return await explainer.connection(question);
    }
  };
}
