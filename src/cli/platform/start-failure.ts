/** Explains failures at start-up, with the next step. */
import { renderListen } from "../../settings/kinds/address.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { placeSettings } from "../../settings/places.ts";
import { flagOf } from "../../settings/setting.ts";
import { Failure } from "../process/exit.ts";

/** The platform's listeners, by the settings of their addresses, as named in messages. */
export const listeners = {
  apiListen: "the management API",
  httpsListen: "the HTTPS edge",
  agentListen: "the agent listener",
  httpListen: "the plain HTTP listener",
  sshListen: "the SSH listener",
} as const;

type Listeners = Readonly<Record<keyof typeof listeners, ListenAddress | undefined>>;

/**
 * Throws `Failure` (usage) if two listeners have the same address. Edges and nodes share their ports (SO_REUSEPORT), so
 * the system would accept both listeners and distribute the connections between them.
 */
export function checkListeners(addresses: Listeners): void {
  const names = Object.keys(listeners) as (keyof Listeners)[];
  for (const [index, name] of names.entries()) {
    const address = addresses[name];
    const other = names.slice(0, index).find((one) => isOverlapping(addresses[one], address));
    if (address === undefined || other === undefined) continue;
    const flag = flagOf(name, placeSettings[name]);
    throw new Failure(
      "usage",
      `${listeners[other]} and ${listeners[name]} cannot both use port ${address.port}: choose another with ${flag}`,
    );
  }
}

function isOverlapping(one: ListenAddress | undefined, other: ListenAddress | undefined): boolean {
  if (one === undefined || other === undefined || one.port === 0 || one.port !== other.port) return false;
  return one.host === other.host || isEverywhere(one) || isEverywhere(other);
}

function isEverywhere({ host }: ListenAddress): boolean {
  return host === undefined || host === "0.0.0.0" || host === "::";
}

/** Returns a plane's failure to start as one sentence. Bugs of the program are returned unchanged. */
export function startFailure(error: unknown, addresses: Listeners): unknown {
  const { code, port, address } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const { what, flag, at } = listenerAt(addresses, port, address);
  if (code === "EADDRINUSE") {
    return new Failure(
      "usage",
      `port ${port} is in use, and ${what} needs it: stop the program that uses it, or choose another port with ${flag}`,
    );
  }
  if (code === "EACCES") {
    return new Failure(
      "usage",
      `${what} has no permission to listen on ${at} (ports below 1024 need a privilege): choose another with ${flag}`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return new Failure(
      "usage",
      `${what} cannot listen on ${at}, which is not an address of this machine: choose another with ${flag}`,
    );
  }
  const { name, message } = error as Error;
  if (["DATABASE_HELD", "DATABASE_SEALED", "DATABASE_UNFIT"].includes(code ?? ""))
    return new Failure("usage", message, { cause: error });
  return name === "Error" ? new Failure("unexpected", `the start failed: ${message}`, { cause: error }) : error;
}

/** Returns the failed listener, found by its port or, for an automatic port, by its host. */
function listenerAt(
  addresses: Listeners,
  port: number | undefined,
  host: string | undefined,
): { readonly what: string; readonly flag: string; readonly at: string } {
  const names = Object.keys(listeners) as (keyof Listeners)[];
  const name =
    names.find((one) => addresses[one]?.port === port && port !== 0) ??
    names.find((one) => addresses[one]?.host !== undefined && addresses[one]?.host === host);
  const address = name && addresses[name];
  return address
    ? { what: listeners[name], flag: flagOf(name, placeSettings[name]), at: renderListen(address) }
    : { what: "a listener", flag: "the -listen options", at: `${host}:${port}` };
}
