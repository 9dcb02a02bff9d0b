import { runUnattended } from "../../lib/boundary.ts";
import type { MessagePort } from "node:worker_threads";
import type { Calls, FromWorker, Host, ToWorker } from "./worker-messages.ts";

/** Serves calls on `port` independently: one that waits does not delay others. */
export function serveCalls(port: MessagePort, calls: Calls): void {
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  let questions = 0;
  const say = (message: FromWorker): void => port.postMessage(message);

  const hostOf = (id: number): Host =>
    new Proxy<Host>(
      {},
      {
        get: (_, name) => (value: unknown) => {
          const question = (questions += 1);
          const answered = Promise.withResolvers<unknown>();
          asked.set(question, answered);
          say({ type: "question", id, question, name: String(name), value });
          return answered.promise;
        },
      },
    );

  const carryOut = async (id: number, name: string, input: unknown): Promise<void> => {
    try {
      const call = Object.hasOwn(calls, name) ? calls[name] : undefined;
      if (!call) throw new Error(`there is no call "${name}"`);
      say({ type: "result", id, value: await call(input as never, hostOf(id) as never) });
    } catch (error) {
      say({ type: "failed", id, message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  };

  port.on("message", (message: ToWorker) => {
    if (message.type === "call") runUnattended("message", carryOut(message.id, message.name, message.input));
    else if (message.type === "ping") say({ type: "pong" });
    else {
      const answered = asked.get(message.question);
      asked.delete(message.question);
      if (message.type === "answer") answered?.resolve(message.value);
      else answered?.reject(new Error(message.message));
    }
  });
}
