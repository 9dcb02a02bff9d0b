/** Requests to edges and their answers: commands for agents, questions about traffic, and metrics. */
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { labelMetrics, sumMetrics } from "../../lib/metrics-sum.ts";
import type { AgentCommand, Downward, SessionCommand, Upward } from "../../routing/planes/messages.ts";
import type {
  AgentEndpoint,
  EdgeAnswer,
  EdgeQuestion,
  SeriesAnswer,
  SeriesQuestion,
  NodeMembership,
} from "../../routing/planes/edge-questions.ts";
import type { StoredObject } from "../../storage/store.ts";
import type { Reply } from "../operation/call.ts";
import type { EdgeLine, EdgeObserver, Edges } from "./edges.ts";
import { joinAnswers } from "./join-answers.ts";

export interface EdgeQueries extends EdgeObserver {
  /** Sends `command` to the agent of `session`. Rejects with `Refusal` if it fails or gets no answer. */
  command(session: StoredObject, command: SessionCommand): Promise<Reply>;
  /** Returns the answer of the agent of `session`, which is untrusted text. Rejects with `Refusal` as `command`. */
  askAgent(session: StoredObject, question: Exclude<AgentCommand, SessionCommand>): Promise<string>;
  /** Asks every edge and combines the answers. Rejects with `Refusal` (edge_silent) if none answers in time. */
  ask(question: EdgeQuestion): Promise<EdgeAnswer>;
  /** Returns the ids of the edges of other nodes that have not reached the milestone after `timeoutMs`. */
  reached(milestone: { readonly revision: number; readonly change: number }, timeoutMs: number): Promise<string[]>;
  /** Returns the answer of one edge. Undefined if it does not answer in time. */
  askOne(line: EdgeLine, question: EdgeQuestion): Promise<EdgeAnswer | undefined>;
  /** Returns the standing of another node, according to one of its edges. Undefined if the edge does not answer in time. */
  standing(line: EdgeLine): Promise<NodeMembership | undefined>;
  /** Returns the history of traffic of the other nodes, once for each of their edges that answers. */
  series(
    question: SeriesQuestion,
  ): Promise<{ readonly answers: readonly SeriesAnswer[]; readonly isComplete: boolean }>;
  /** Returns the endpoints of the account's agents. Rejects with `Refusal` (edge_silent) as `ask`. */
  agentEndpoints(accountId: string): Promise<readonly AgentEndpoint[]>;
  /** Returns the sum of the edges' metrics in text form; "" if none answers in time. */
  metrics(exemplars?: boolean): Promise<string>;
}

const commandTimeoutMs = 15_000;
const metricsTimeoutMs = 1_000;
const questionTimeoutMs = 10_000;
/** Time for an answer about the standing of a node. Traffic for its agents continues meanwhile. */
const standingMs = 2_000;
/** Extra time for an answer, besides the time that its edge waits. */
const reachedMs = 500;
/** Maximum number of open queries. More queries are rejected immediately. */
const maxQueries = 1_000;

type EdgeMessage = Extract<Upward, { type: "command_result" | "metrics" | "answer" }>;

/** The edges of other nodes. */
export interface OtherLines {
  lines(): readonly EdgeLine[];
  /** Returns the line to the edge that has a session. */
  lineOf(sessionId: string): EdgeLine | undefined;
}

/** Sends questions to edges and matches their answers. */
interface Calls {
  /** Resolves with undefined if no answer arrives within `timeoutMs`. */
  query(line: EdgeLine, message: (call: number) => Downward, timeoutMs: number): Promise<EdgeMessage | undefined>;
  /** Sends all queries in parallel. Answers are in the order of `lines`. */
  queryAll(
    lines: readonly EdgeLine[],
    message: (call: number) => Downward,
    timeoutMs: number,
  ): Promise<readonly (EdgeMessage | undefined)[]>;
  answered(answer: EdgeMessage): void;
}

function makeCalls(clock: Clock): Calls {
  const waiting = new Map<number, (answer: EdgeMessage | undefined) => void>();
  let lastCall = 0;
  const query: Calls["query"] = (line, message, timeoutMs) => {
    if (waiting.size >= maxQueries) return Promise.resolve(undefined);
    const call = (lastCall += 1);
    return new Promise((resolve) => {
      const timer = clock.after(timeoutMs, () => {
        waiting.delete(call);
        resolve(undefined);
      });
      waiting.set(call, (answer) => {
        timer.cancel();
        waiting.delete(call);
        resolve(answer);
      });
      line.send(message(call));
    });
  };
  return {
    query,
    queryAll: (lines, message, timeoutMs) => Promise.all(lines.map((line) => query(line, message, timeoutMs))),
    answered: (answer) => waiting.get(answer.call)?.(answer),
  };
}

/** @throws Refusal (edge_silent) if there are edges and none has answered */
function joinEndpoints(answers: readonly (EdgeAnswer | undefined)[]): readonly AgentEndpoint[] {
  const said = answers.filter((answer) => answer?.name === "agent_endpoints");
  if (said.length === 0 && answers.length > 0) throw new Refusal("edge_silent");
  return [...new Map(said.flatMap(({ endpoints }) => endpoints.map((one) => [one.tunnelId, one]))).values()];
}

function answerIn(message: Upward | undefined): EdgeAnswer | undefined {
  return message?.type === "answer" ? message.answer : undefined;
}

/** @param otherNodes undefined if there is no other node, or none yet */
export function makeEdgeQueries(
  edges: Pick<Edges, "joined" | "lines">,
  clock: Clock,
  otherNodes: () => OtherLines | undefined = () => undefined,
): EdgeQueries {
  const elsewhere = (): readonly EdgeLine[] => otherNodes()?.lines() ?? [];
  const { query, queryAll, answered } = makeCalls(clock);
  const askAll = async (
    lines: readonly EdgeLine[],
    question: EdgeQuestion,
    timeoutMs = questionTimeoutMs,
  ): Promise<readonly (EdgeAnswer | undefined)[]> => {
    return (await queryAll(lines, (call) => ({ type: "question", call, question }), timeoutMs)).map(answerIn);
  };
  const askOne = async (line: EdgeLine, question: EdgeQuestion, timeoutMs: number): Promise<EdgeAnswer | undefined> => {
    const answer = await query(line, (call) => ({ type: "question", call, question }), timeoutMs);
    return answerIn(answer);
  };
  /** The line to the edge at which the agent of a session is connected. */
  const lineOfSession = new Map<string, EdgeLine>();
  const tell = async ({ id: sessionId }: StoredObject, command: AgentCommand): Promise<string | undefined> => {
    const line = lineOfSession.get(sessionId) ?? otherNodes()?.lineOf(sessionId);
    const answer =
      line && (await query(line, (call) => ({ type: "command", call, sessionId, command }), commandTimeoutMs));
    if (answer?.type !== "command_result") throw new Refusal("command_timeout");
    if (answer.error) throw new Refusal(answer.error.reason, `${command.name} ${sessionId}: ${answer.error.message}`);
    return answer.text;
  };
  return {
    async command(session, command) {
      await tell(session, command);
      return { status: 204 };
    },
    askAgent: async (session, question) => (await tell(session, question)) ?? "",
    async ask(question) {
      const answers = await askAll([...edges.joined(), ...elsewhere()], question);
      const said = answers.filter((one) => one !== undefined);
      const joined = joinAnswers(question, said, said.length < answers.length);
      if (!joined) throw new Refusal("edge_silent");
      return joined;
    },
    async reached(milestone, timeoutMs) {
      const lines = elsewhere();
      const answers = await askAll(lines, { name: "reached", ...milestone, timeoutMs }, timeoutMs + reachedMs);
      return lines.flatMap(({ edgeId = "" }, at) => {
        const said = answers[at];
        return said?.name === "reached" && said.isReached ? [] : [edgeId];
      });
    },
    askOne: (line, question) => askOne(line, question, questionTimeoutMs),
    async standing(line) {
      const said = await askOne(line, { name: "standing" }, standingMs);
      return said?.name === "standing" ? said.standing : undefined;
    },
    async series(question) {
      const said = await askAll(elsewhere(), question);
      return {
        answers: said.filter((one) => one?.name === "series"),
        isComplete: said.every((one) => one?.name === "series"),
      };
    },
    async agentEndpoints(accountId) {
      // The edges of this node know those of all edges and nodes.
      return joinEndpoints(await askAll(edges.joined(), { name: "agent_endpoints", accountId }));
    },
    async metrics(exemplars = false) {
      const joined = edges.joined();
      const request = (call: number) => ({ type: "metrics_request" as const, call, exemplars });
      const answers = await queryAll(joined, request, metricsTimeoutMs);
      const texts = answers.flatMap((one, at) => {
        if (one?.type !== "metrics") return [];
        // Edges are numbered by their place, as in the log. Ids change with each start and would create more and more
        // series.
        const place = edges.lines.indexOf(joined[at] as EdgeLine) + 1;
        return [edges.lines.length > 1 ? labelMetrics(one.text, "edge", String(place)) : one.text];
      });
      return sumMetrics(texts);
    },
    receive(message, line) {
      switch (message.type) {
        case "hello":
        case "gone":
          for (const [id, one] of lineOfSession) if (one === line) lineOfSession.delete(id);
          return;
        case "session_opened":
          lineOfSession.set(message.session.id, line);
          return;
        case "session_closed":
          if (lineOfSession.get(message.sessionId) === line) lineOfSession.delete(message.sessionId);
          return;
        case "command_result":
        case "metrics":
        case "answer":
          answered(message);
      }
    },
  };
}
