/** Messages between a plane's thread and the thread that started it, besides the planes' own messages. */
import type { MessagePort } from "node:worker_threads";
import type { AddressData } from "../../../geo/address-book.ts";
import type { KeyedCertificate } from "../../../lib/certificates/x509.ts";
import type { AccessBatch, AccessWritten } from "../../../lib/access-fields.ts";
import type { Heart } from "../../../lib/heartbeat.ts";
import type { TelemetryShare } from "./telemetry-end.ts";
import type { LogForm } from "../../process/log-output.ts";

/** A condition of the server that its operator can end. Without a message, it is over. */
export interface ServerProblem {
  readonly part: string;
  readonly message: string | undefined;
}

export type ToThread =
  /** The plane at the other end of line `at` has restarted. `port` is the new line to it. */
  | { readonly type: "link"; readonly at: number; readonly port: MessagePort }
  /** The server's certificate authority after a reload. */
  | { readonly type: "authority"; readonly authority: KeyedCertificate }
  /** A line between an edge and the capture thread. */
  | { readonly type: "capture"; readonly port: MessagePort }
  /** A line to the telemetry thread. */
  | { readonly type: "telemetry"; readonly port: MessagePort }
  /** Locations and categories of addresses, for an edge. */
  | { readonly type: "addresses"; readonly data: AddressData }
  /** A condition of the server itself, for the control plane. */
  | { readonly type: "serverProblem"; readonly problem: ServerProblem }
  /** All edges of this server are prepared: listen for agents. */
  | { readonly type: "acceptAgents" }
  /** What became of lines of the access log. */
  | { readonly type: "accessWritten"; readonly result: AccessWritten }
  /**
   * Finish the open work, and continue to do so for other threads. `isObserved`: others know from `/readyz` or the
   * database that the server stops, and have the server's delay to choose another one.
   */
  | { readonly type: "drain"; readonly isObserved: boolean }
  | { readonly type: "stop" };

export type FromThread<Ports> =
  | { readonly type: "ready"; readonly ports: Ports }
  /** The edge has its configuration, listens for visitors, and waits for `acceptAgents`. */
  | { readonly type: "prepared"; readonly ports: Ports }
  | { readonly type: "failed"; readonly error: ThreadError }
  /** Lines for the access log. */
  | { readonly type: "accessLines"; readonly batch: AccessBatch }
  /** The edge has requests for the capture thread, which may not run yet. */
  | { readonly type: "captureWanted" }
  /** Something has requested `/readyz`. Sent at most every 10 seconds. */
  | { readonly type: "readinessChecked" }
  /** A rule of the edge needs locations or categories of addresses. */
  | { readonly type: "addressesWanted" }
  | { readonly type: "drained" }
  | { readonly type: "stopped" };

/** An error in a form that crosses threads. */
export interface ThreadError {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  /** Port of a failure to listen. */
  readonly port: number | undefined;
  readonly address: string | undefined;
  readonly stack: string | undefined;
}

export interface ThreadData<Options> {
  readonly options: Options;
  /** An ordered list of ports to the edges; for an edge, one port to the control plane. */
  readonly ports: readonly MessagePort[];
  readonly log: LogForm;
  /** Absent if no telemetry is sent. */
  readonly telemetry: TelemetryShare | undefined;
  /** Heartbeat that the starting thread watches. */
  readonly heart: Heart;
  /** Marks of work on which previous runs hung. It is rejected until it changes. */
  readonly refused: readonly number[];
}
