/** Questions to the persons who use MCP clients (elicitation), and their answers, which arrive in other requests. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { JsonObject } from "../lib/json.ts";
import { objectOf } from "./client.ts";

export interface Question {
  /** The message to the client. */
  readonly message: JsonObject;
  /** Resolves with whether the person agreed. Without an answer in time, the person did not. */
  readonly answer: Promise<boolean>;
  /** Answers the question with no. */
  cancel(): void;
}

export interface Questions {
  /** Returns undefined if too many questions are open. */
  ask(keyId: string, text: string): Question | undefined;
  /** Accepts a response of a client. Responses to other keys' questions are ignored. */
  answered(keyId: string, message: JsonObject): void;
  /** Answers all open questions with no. */
  stop(): void;
}

const answerMs = 120_000;
const maxOpen = 64;

export function makeQuestions(clock: Pick<Clock, "after">): Questions {
  const open = new Map<string, { readonly keyId: string; resolve(agreed: boolean): void }>();
  return {
    ask(keyId, text) {
      if (open.size >= maxOpen) return undefined;
      const id = `confirm-${randomBytes(16).toString("base64url")}`;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const end = (agreed: boolean): void => {
        timer.cancel();
        open.delete(id);
        resolve(agreed);
      };
      const timer = clock.after(answerMs, () => end(false));
      open.set(id, { keyId, resolve: end });
      const confirm = { type: "boolean", title: "Make these changes", default: false };
      const requestedSchema = { type: "object", properties: { confirm }, required: ["confirm"] };
      const message = {
        jsonrpc: "2.0",
        id,
        method: "elicitation/create",
        params: { message: text, requestedSchema },
      };
      return { message, answer: promise, cancel: () => end(false) };
    },
    answered(keyId, { id, result }) {
      const found = typeof id === "string" ? open.get(id) : undefined;
      if (found?.keyId !== keyId) return;
      const { action, content } = objectOf(result);
      found.resolve(action === "accept" && objectOf(content)["confirm"] === true);
    },
    stop() {
      for (const { resolve } of open.values()) resolve(false);
    },
  };
}
