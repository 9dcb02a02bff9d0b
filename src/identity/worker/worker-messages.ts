/** Messages between the calling thread and the worker. Plain data, so that they could be separate processes. */

export type ToWorker =
  | { readonly type: "call"; readonly id: number; readonly name: string; readonly input: unknown }
  /** Answer to a question. `failed` if the calling thread could not answer it. */
  | { readonly type: "answer"; readonly question: number; readonly value: unknown }
  | { readonly type: "failed answer"; readonly question: number; readonly message: string }
  /** Asks whether the worker responds. */
  | { readonly type: "ping" };

export type FromWorker =
  | { readonly type: "result"; readonly id: number; readonly value: unknown }
  /** An internal error. Faults of an input are part of the result. */
  | { readonly type: "failed"; readonly id: number; readonly message: string }
  /** A question that only the calling thread can answer, during the call `id`. */
  | {
      readonly type: "question";
      readonly id: number;
      readonly question: number;
      readonly name: string;
      readonly value: unknown;
    }
  | { readonly type: "pong" };

/**
 * The calls of a worker, by name. Inputs and results are plain data. `host` has the caller's functions, each with one
 * argument.
 */
export type Calls = Readonly<Record<string, (input: never, host: never) => unknown>>;

export type Host = Readonly<Record<string, (value: never) => Promise<unknown>>>;
