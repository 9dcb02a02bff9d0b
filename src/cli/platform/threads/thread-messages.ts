/** What a plane's thread and the thread that started it say to each other, besides the planes' own messages. */
import type { MessagePort } from "node:worker_threads";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";
import type { Heart } from "../../../lib/heartbeat.ts";
import type { LogForm } from "../../process/log-output.ts";

export type ToThread =
  /** What is at the other end of the line `at` was started anew; this is the line to it. */
  | { readonly type: "link"; readonly at: number; readonly port: MessagePort }
  /** The server's certificate authority, read anew. */
  | { readonly type: "authority"; readonly authority: KeyedCertificate }
  /** Finishes what is under way, and goes on doing so for other threads. */
  | { readonly type: "drain" }
  | { readonly type: "stop" };

export type FromThread<Ports> =
  | { readonly type: "ready"; readonly ports: Ports }
  | { readonly type: "failed"; readonly error: ThreadError }
  | { readonly type: "drained" }
  | { readonly type: "stopped" };

/** An error as it crosses between threads. */
export interface ThreadError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** Of a failure to listen. */
  readonly port: number | undefined;
  readonly address: string | undefined;
  readonly stack: string | undefined;
}

export interface ThreadData<Options> {
  readonly options: Options;
  /** To the edges in their order; an edge has one, to the control plane. */
  readonly ports: readonly MessagePort[];
  readonly log: LogForm;
  /** What the thread that has started it watches. */
  readonly heart: Heart;
  /** Marks of work that earlier runs have hung on: it is refused until it changes. */
  readonly refused: readonly number[];
}
