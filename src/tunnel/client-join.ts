/** The agent's side of a join: sends the secret of an invitation and receives an agent token. */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { askOnce } from "./client-question.ts";
import { textMember } from "./json-message.ts";
import { streamType } from "./typed-stream.ts";

const maxText = 4096;

/** Uses and closes a verified connection. Rejects with `Refusal` if the server sends a reason. */
export async function sendJoin(
  socket: Socket,
  { secret, name }: { readonly secret: Buffer; readonly name: string },
  clock: Clock,
  timeoutMs: number,
): Promise<{ readonly token: string; readonly accountName: string }> {
  const question = { Secret: secret.toString("base64url"), Name: name };
  const reply = await askOnce(socket, streamType.join, question, clock, timeoutMs);
  const token = textMember(reply, "Token", maxText);
  if (token === "") throw new Error("the server's answer has no token: it may be an earlier version");
  return { token, accountName: textMember(reply, "AccountName", maxText) };
}
