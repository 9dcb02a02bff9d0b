/** Sentences for what goes wrong at start-up, each saying what to do. */
import { Failure } from "../process/exit.ts";
import type { ListenAddress } from "../settings/setting.ts";
import { renderListen } from "../settings/setting.ts";

export interface Listener {
  /** As the sentence names it: "the HTTPS edge". */
  readonly what: string;
  readonly flag: string;
  readonly address: ListenAddress;
}

/** The failure of a plane to start as one sentence; a fault of the program is returned as it was. */
export function startFailure(error: unknown, listeners: readonly Listener[]): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const listener =
    listeners.find((one) => one.address.port === port && port !== 0) ??
    listeners.find((one) => one.address.host !== undefined && one.address.host === address);
  const { what, flag } = listener ?? { what: "a listener", flag: "the -listen options" };
  const at = listener ? renderListen(listener.address) : `${address}:${port}`;
  if (code === "EADDRINUSE") {
    return new Failure(
      "usage",
      `port ${port} is in use, and ${what} wants to listen there: stop what uses it, or choose another port with ${flag}`,
    );
  }
  if (code === "EACCES") {
    return new Failure(
      "usage",
      `${what} may not listen on ${at} (ports below 1024 need a privilege): choose another with ${flag}`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new Failure(
      "usage",
      `${what} cannot listen on ${at}, which is no address of this machine: choose another with ${flag}`,
    );
  }
  const { name, message } = error as Error;
  if (code === "DATABASE_HELD" || code === "DATABASE_SEALED") return new Failure("usage", message, { cause: error });
  return name === "Error" ? new Failure("unexpected", `the start failed: ${message}`, { cause: error }) : error;
}
