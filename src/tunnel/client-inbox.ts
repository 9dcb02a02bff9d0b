/** The agent's side of its inbox: opens it, counts what waits, holds and releases the deliveries. */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import type { AgentInboxAnswer, AgentInboxVerb, AgentInboxWebhook } from "../routing/planes/inbox-questions.ts";
import { askOnce } from "./client-question.ts";
import { countMember, textMember } from "./json-message.ts";
import { streamType } from "./typed-stream.ts";

export interface InboxQuestion {
  readonly token: string;
  readonly verb: AgentInboxVerb;
  /** The whole public URL; "" for a generated one. */
  readonly url: string;
  /** The same for each run of the agent. Generated URLs follow from it. */
  readonly name: string;
  readonly webhooks: readonly AgentInboxWebhook[];
}

const maxText = 4096;

/** Uses and closes a verified connection. Rejects with `Refusal` if the server sends a reason. */
export async function sendInboxQuestion(
  socket: Socket,
  { token, verb, url, name, webhooks }: InboxQuestion,
  clock: Clock,
  timeoutMs: number,
): Promise<AgentInboxAnswer> {
  const question = {
    Token: token,
    Verb: verb,
    URL: url,
    Name: name,
    Webhooks: webhooks.map(({ path, provider, secret }) => ({ Path: path, Provider: provider, Secret: secret })),
  };
  const reply = await askOnce(socket, streamType.inbox, question, clock, timeoutMs);
  const found = textMember(reply, "URL", maxText);
  if (found === "") throw new Error("the server's answer has no URL: it may be an earlier version");
  return { url: found, host: textMember(reply, "Host", maxText), waiting: countMember(reply, "Waiting") };
}
