/**
 * Questions to the persons who use MCP clients (elicitation), and their answers, which arrive in other requests. With
 * several nodes, such a request may arrive at another node, which leaves the answer for all.
 */
import { randomBytes } from "node:crypto";
import { runUnattended } from "../lib/boundary.ts";
import type { Clock } from "../lib/clock.ts";
import type { JsonObject } from "../lib/json.ts";
import { objectOf } from "./mcp-client.ts";
import type { Notes } from "./parts/kept-plans.ts";

export interface PersonQuestion {
  /** The message to the client. */
  readonly message: JsonObject;
  /** Resolves with whether the person agreed. Without an answer in time, the person did not. */
  readonly answer: Promise<boolean>;
  /** Answers the question with no. */
  cancel(): void;
}

export interface Questions {
  /** Returns undefined if too many questions are open. */
  ask(keyId: string, text: string): PersonQuestion | undefined;
  /** Accepts a response of a client. Responses to other keys' questions have no effect. Rejects as `Notes.put`. */
  answered(keyId: string, message: JsonObject): Promise<void>;
  /** Answers all open questions with no. */
  stop(): void;
}

const answerMs = 120_000;
const maxOpen = 64;
/** Interval at which a node reads whether another node got the answer. */
const lookEveryMs = 500;
const idForm = /^confirm-[\w-]{22}$/;
const agreedText = "yes";
/** For the notes of all nodes. An answer is used within the interval. */
export const answerLimits = { purpose: "mcp answer", keepMs: answerMs, maxPerOwner: maxOpen, max: 4_096 } as const;

/** @param notes undefined for a server without other nodes */
export function makeQuestions(clock: Pick<Clock, "after" | "every">, notes?: Notes): Questions {
  const open = new Map<string, { readonly keyId: string; resolve(agreed: boolean): void }>();
  const look = async (keyId: string, id: string): Promise<void> => {
    // A database that does not respond may do so at the next look.
    const text = await notes?.find(keyId, id).catch(() => undefined);
    if (text !== undefined) open.get(id)?.resolve(text === agreedText);
  };
  return {
    ask(keyId, text) {
      if (open.size >= maxOpen) return undefined;
      const id = `confirm-${randomBytes(16).toString("base64url")}`;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const end = (agreed: boolean): void => {
        for (const timer of timers) timer.cancel();
        open.delete(id);
        resolve(agreed);
      };
      const timers = [
        clock.after(answerMs, () => end(false)),
        ...(notes ? [clock.every(lookEveryMs, () => runUnattended("task", look(keyId, id)))] : []),
      ];
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
    async answered(keyId, { id, result }) {
      if (typeof id !== "string") return;
      const { action, content } = objectOf(result);
      const agreed = action === "accept" && objectOf(content)["confirm"] === true;
      const found = open.get(id);
      if (found?.keyId === keyId) found.resolve(agreed);
      else if (!found && idForm.test(id)) await notes?.put(keyId, id, agreed ? agreedText : "no");
    },
    stop() {
      for (const { resolve } of open.values()) resolve(false);
    },
  };
}
