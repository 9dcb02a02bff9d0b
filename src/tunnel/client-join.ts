/** The agent's side of a join: sends the secret of an invitation and receives an agent token. */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { call } from "./call.ts";
import { textMember } from "./json-message.ts";
import { errorCode } from "./mux/frame.ts";
import { Mux } from "./mux/mux.ts";
import { streamType } from "./typed-stream.ts";
import { parseWireError } from "./wire-error.ts";

const maxText = 4096;

/** Uses and closes a verified connection. Rejects with `Refusal` if the server sends a reason. */
export function sendJoin(
  socket: Socket,
  { secret, name }: { readonly secret: Buffer; readonly name: string },
  clock: Clock,
  timeoutMs: number,
): Promise<{ readonly token: string; readonly accountName: string }> {
  return new Promise((resolve, reject) => {
    const mux = new Mux(
      socket,
      { side: "agent", clock, maxIncoming: 0, answersAtOnce: false },
      {
        incoming: (stream) => stream.abort(),
        bug: reject,
        closed: (error) => reject(error ?? new Error("the server closed the connection")),
      },
    );
    const question = { Secret: secret.toString("base64url"), Name: name };
    call(mux, clock, streamType.join, question, timeoutMs, (error, reply) => {
      try {
        const refused = textMember(reply, "Error", maxText);
        if (error) reject(error);
        else if (refused !== "") reject(parseWireError(refused));
        else {
          const token = textMember(reply, "Token", maxText);
          if (token === "") reject(new Error("the server's answer has no token: it may be an earlier version"));
          else resolve({ token, accountName: textMember(reply, "AccountName", maxText) });
        }
      } catch (unread) {
        reject(unread as Error);
      }
      mux.close(errorCode.none, "");
    });
  });
}
