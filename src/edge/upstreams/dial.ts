/**
 * Connections to static addresses. A name is resolved and checked before dialling, so that no name leads into the
 * machine.
 */
import type { LookupAddress } from "node:dns";
import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { makeContained } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { readingIntoShared } from "../../lib/io/read-buffers.ts";
import { explainForbidden } from "../../lib/upstream-address.ts";
import { resolveAllowed } from "../../outbound/address-rules.ts";

export interface StaticAddress {
  readonly host: string;
  readonly port: number;
  /** Whether the connection uses TLS. The certificate must match `host`. */
  readonly tls: boolean;
}

export interface DialOptions {
  readonly clock: Clock;
  /** Whether this server may connect to loopback and link-local addresses on behalf of a backend. */
  readonly allowLocal: boolean;
  /** PEM of authorities that are trusted in addition to the system's. */
  readonly ca?: string;
  /** Whether the TLS handshake offers HTTP. Default: true. */
  readonly http?: boolean;
}

const dialTimeoutMs = 10_000;
/** Maximum time of a name look-up in a dry run. */
const lookupTimeoutMs = 2_000;

export interface PendingDial {
  /** Cancels the dial while the name is being resolved. `done` is then not called. Returns false if it is too late. */
  withdraw(): boolean;
}

/**
 * Calls `done` once, now or later, with a connected socket or an error. The error is a `Refusal` if the address is not
 * allowed.
 * @param asker the account whose share of name look-ups is used
 * @returns undefined if no name is being resolved
 */
export function dialAddress(
  target: StaticAddress,
  asker: string,
  options: DialOptions,
  done: (result: Socket | Error) => void,
): PendingDial | undefined {
  let settled = false;
  let socket: Socket | undefined;
  const settle = (result: Socket | Error): void => {
    if (settled) return;
    settled = true;
    timer.cancel();
    if (!socket) giveUp();
    if (result instanceof Error) socket?.destroy();
    done(result);
  };
  /** Handles an error in a step of the dial. If `done` was already called, its caller has ended the connection. */
  const step = <Given extends readonly unknown[]>(run: (...given: Given) => void): ((...given: Given) => void) =>
    makeContained("connection", run, (error) => {
      socket?.destroy();
      if (settled) return;
      settled = true;
      timer.cancel();
      done(error instanceof Error ? error : new Error(String(error)));
    });
  const timer = options.clock.after(
    dialTimeoutMs,
    step(() => settle(new Error(`no connection within ${dialTimeoutMs / 1000} s`))),
  );
  let giveUp = (): void => {};
  const reach = (found: LookupAddress[] | Error): void => {
    if (found instanceof Error) {
      settle(found);
      return;
    }
    const tcp = connect({
      host: target.host,
      port: target.port,
      noDelay: true,
      allowHalfOpen: true,
      autoSelectFamily: true,
      ...(target.tls ? {} : readingIntoShared()),
      // Returns only the addresses that were checked, because a second look-up could return others.
      lookup: (_host, { all }, answer) => {
        const first = found[0] as LookupAddress;
        if (all) answer(null, found);
        else answer(null, first.address, first.family);
      },
    });
    socket = tcp;
    const failed = step(settle);
    tcp.once("error", failed);
    const connected = (): void => {
      if (!target.tls) {
        tcp.off("error", failed);
        settle(tcp);
        return;
      }
      const name = isIP(target.host) === 0 ? { servername: target.host } : {};
      const alpn = options.http === false ? {} : { ALPNProtocols: ["http/1.1"] };
      const ca = options.ca === undefined ? {} : { ca: options.ca };
      const secure = connectTls({ socket: tcp, host: target.host, ...alpn, ...name, ...ca });
      socket = secure;
      secure.once("error", failed);
      const secured = (): void => {
        secure.off("error", failed);
        settle(secure);
      };
      secure.once("secureConnect", step(secured));
    };
    tcp.once("connect", step(connected));
  };
  giveUp = addressesOf(target.host, asker, options.allowLocal, step(reach));
  // `settle` and the look-up may already have run.
  if ((settled as boolean) || socket !== undefined) return undefined;
  return {
    withdraw() {
      if (settled || socket) return false;
      settled = true;
      timer.cancel();
      giveUp();
      return true;
    },
  };
}

/**
 * Returns why no address of `host` is allowed. Returns undefined if one is allowed or the look-up takes too long. Does
 * not dial.
 */
export function refusalOf(host: string, { clock, allowLocal }: DialOptions): Promise<Refusal | undefined> {
  return new Promise((resolve) => {
    const timer = clock.after(lookupTimeoutMs, () => {
      giveUp();
      resolve(undefined);
    });
    const giveUp = addressesOf(host, "explain", allowLocal, (found) => {
      timer.cancel();
      resolve(found instanceof Refusal ? found : undefined);
    });
  });
}

function addressesOf(
  host: string,
  asker: string,
  allowLocal: boolean,
  done: (found: LookupAddress[] | Error) => void,
): () => void {
  return resolveAllowed(
    host,
    asker,
    (address) => mayDial(address, allowLocal),
    (name, found) => notAllowed(name, found, allowLocal),
    done,
  );
}

/** Describes the kind of the addresses without naming them: users who configure a backend need not know them. */
function notAllowed(host: string, found: readonly LookupAddress[], allowLocal: boolean): Refusal {
  const kinds = new Set(found.map(({ address }) => explainForbidden(address, allowLocal)));
  const leads = isIP(host) === 0 ? "leads to" : "is";
  return new Refusal("upstream_forbidden", `not allowed here: "${host}" ${leads} ${[...kinds].join(" and ")}`);
}

export function mayDial(address: string, allowLocal: boolean): boolean {
  return explainForbidden(address, allowLocal) === undefined;
}
