/** The agent's inbox at the server: a question on a connection that is used for nothing else. */
import type { Clock } from "../lib/clock.ts";
import { sendInboxQuestion } from "../tunnel/client-inbox.ts";
import type { InboxQuestion } from "../tunnel/client-inbox.ts";
import type { AgentInboxAnswer } from "../routing/planes/inbox-questions.ts";
import type { AgentOptions } from "./agent-options.ts";
import { connectServer } from "./connect.ts";

const answerMs = 15_000;

/** Rejects with `Refusal` where the server gives a reason, and with what a connection fails with. */
export async function askInbox(
  { server, ca, connect, token }: Required<Pick<AgentOptions, "server" | "ca" | "connect" | "token">>,
  question: Omit<InboxQuestion, "token">,
  clock: Clock,
): Promise<AgentInboxAnswer> {
  const socket = await connectServer(server, ca, new AbortController().signal, connect);
  return await sendInboxQuestion(socket, { ...question, token }, clock, answerMs);
}
