/** What the calling thread and the worker say to each other. Plain data, so that it could be two processes. */

export type ToWorker =
  | { readonly type: "call"; readonly id: number; readonly name: string; readonly input: unknown }
  /** To a question; `failed` when the thread could not say. */
  | { readonly type: "answer"; readonly question: number; readonly value: unknown }
  | { readonly type: "failed answer"; readonly question: number; readonly message: string }
  /** Whether it is still there. */
  | { readonly type: "ping" };

export type FromWorker =
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  /** A bug: what is wrong with an input is part of the result. */
  | { readonly type: "failed"; readonly id: number; readonly message: string }
  /** Something that only the calling thread knows, in the course of the call `id`. */
  | {
      readonly type: "question";
      readonly id: number;
      readonly question: number;
      readonly name: string;
      readonly value: unknown;
    }
  | { readonly type: "pong" };

/**
 * What a worker can be asked, by name. Inputs and results are plain data. `host` has the functions that the caller
 * gave with the call, each of one argument.
 */
export type Calls = Readonly<Record<string, (input: never, host: never) => unknown>>;

export type Host = Readonly<Record<string, (value: never) => Promise<unknown>>>;
