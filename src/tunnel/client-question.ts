/** A question of an agent on a connection without a session. */
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { sendRequest } from "./agent-call.ts";
import { textMember } from "./json-message.ts";
import type { JsonObject } from "./json-message.ts";
import { errorCode } from "./mux/frame.ts";
import { Mux } from "./mux/mux.ts";
import { parseWireError } from "./wire-error.ts";

const maxText = 4096;

/** Uses and closes a verified connection. Rejects with `Refusal` if the server sends a reason. */
export function askOnce(
  socket: Socket,
  type: number,
  question: JsonObject,
  clock: Clock,
  timeoutMs: number,
): Promise<JsonObject> {
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
    sendRequest(mux, clock, type, question, timeoutMs, (error, reply) => {
      try {
        const refused = textMember(reply, "Error", maxText);
        if (error) reject(error);
        else if (refused === "") resolve(reply);
        else reject(parseWireError(refused));
      } catch (unread) {
        reject(unread as Error);
      }
      mux.close(errorCode.none, "");
    });
  });
}
