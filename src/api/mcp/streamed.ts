/** Answers with a stream of events: first questions to the person (elicitation), then the result. */
import { Readable } from "node:stream";
import { runUnattended } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ToolContext } from "../../mcp/parts/tool.ts";
import type { Questions } from "../../mcp/person-questions.ts";
import { makeFailure, rpcCodes } from "../../mcp/service.ts";
import type { RpcRequest } from "../../mcp/service.ts";
import type { ApiExchange } from "../http/api-exchange.ts";
import type { Reply } from "../operation/call.ts";

interface Asker {
  readonly exchange: ApiExchange;
  /** Account and id of the key or person. */
  readonly callerId: string;
}

/** @param answer makes the result, and asks the person with the given function */
export function replyStreamed(
  questions: Questions,
  { exchange, callerId }: Asker,
  requestId: RpcRequest["id"],
  answer: (confirm: ToolContext["confirm"]) => Promise<JsonObject>,
): Reply {
  const out = new Readable({ read() {} });
  const push = (one: JsonObject): unknown => out.push(`event: message\ndata: ${JSON.stringify(one)}\n\n`);
  const confirm: ToolContext["confirm"] = async (text) => {
    const question = questions.ask(callerId, text);
    if (!question) throw new Refusal("work_limit", "too many MCP confirmations are open; try again later");
    exchange.response.once("close", question.cancel);
    push(question.message);
    return await question.answer;
  };
  const answered = answer(confirm).catch((error: unknown) =>
    makeFailure(requestId, rpcCodes.request, error instanceof Refusal ? error.message : "internal error"),
  );
  runUnattended(
    "exchange",
    answered.then((last) => {
      push(last);
      out.push(null);
    }),
  );
  return { status: 200, stream: out as AsyncIterable<string>, contentType: "text/event-stream" };
}
