/** Connections to static addresses: resolved, checked and only then dialled, so that no name leads inside. */
import { lookup } from "node:dns";
import type { LookupAddress } from "node:dns";
import { connect, isIP } from "node:net";
import type { Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { readAddress } from "../../lib/address.ts";
import type { Clock } from "../../lib/clock.ts";

export interface StaticAddress {
  readonly host: string;
  readonly port: number;
  /** The connection is encrypted, and the certificate must be for `host`. */
  readonly tls: boolean;
}

export interface DialOptions {
  readonly clock: Clock;
  /** Whether this server may connect to loopback and link-local addresses on behalf of a backend. */
  readonly allowLocal: boolean;
  /** PEM of authorities that are trusted besides the system's. */
  readonly ca?: string;
  /** Whether HTTP is offered in TLS handshakes; it is unless told otherwise. */
  readonly http?: boolean;
}

const dialTimeoutMs = 10_000;
/** Where clouds answer their machines besides link-local addresses: Azure, Alibaba Cloud, Oracle Cloud, and AWS by IPv6. */
const metadataServices = new Set(
  ["168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"].map((text) => {
    const words = new Uint32Array(4);
    return keyOf(readAddress(text, words), words);
  }),
);

/** Calls `done` once, with a connected socket or with why there is none. */
export function dial(target: StaticAddress, options: DialOptions, done: (result: Socket | Error) => void): void {
  let settled = false;
  let socket: Socket | undefined;
  const settle = (result: Socket | Error): void => {
    if (settled) return;
    settled = true;
    timer.cancel();
    if (result instanceof Error) socket?.destroy();
    done(result);
  };
  const timer = options.clock.after(dialTimeoutMs, () => settle(new Error("no connection in time")));
  addressesOf(target.host, options.allowLocal, (found) => {
    if (settled) return;
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
      // The addresses that were checked, and no others: a second look-up could say something else.
      lookup: (_host, { all }, answer) => {
        const first = found[0] as LookupAddress;
        if (all) answer(null, found);
        else answer(null, first.address, first.family);
      },
    });
    socket = tcp;
    tcp.once("error", settle);
    tcp.once("connect", () => {
      if (!target.tls) {
        tcp.off("error", settle);
        settle(tcp);
        return;
      }
      const name = isIP(target.host) === 0 ? { servername: target.host } : {};
      const alpn = options.http === false ? {} : { ALPNProtocols: ["http/1.1"] };
      const ca = options.ca === undefined ? {} : { ca: options.ca };
      const secure = connectTls({ socket: tcp, host: target.host, ...alpn, ...name, ...ca });
      socket = secure;
      secure.once("error", settle);
      secure.once("secureConnect", () => {
        secure.off("error", settle);
        settle(secure);
      });
    });
  });
}

function addressesOf(host: string, allowLocal: boolean, done: (found: LookupAddress[] | Error) => void): void {
  const check = (found: readonly LookupAddress[]): void => {
    const usable = found.filter(({ address }) => mayDial(address, allowLocal));
    done(usable.length > 0 ? usable : new Error(`connect to "${host}": its addresses are not allowed`));
  };
  const family = isIP(host);
  if (family !== 0) {
    check([{ address: host, family }]);
    return;
  }
  lookup(host, { all: true }, (error, found) => {
    if (error) done(error);
    else check(found);
  });
}

/**
 * Never the unspecified address, multicast or broadcast; loopback, link-local and the metadata services of clouds
 * only where the operator says so.
 */
export function mayDial(address: string, allowLocal: boolean): boolean {
  const words = new Uint32Array(4);
  const family = readAddress(address, words);
  const [first = 0, second = 0, third = 0, fourth = 0] = words;
  if (!allowLocal && metadataServices.has(keyOf(family, words))) return false;
  if (family === 4) {
    const top = first >>> 24;
    if (top === 0 || top >= 224) return false;
    return allowLocal || (top !== 127 && first >>> 16 !== 0xa9fe);
  }
  if (family !== 6 || first >>> 24 === 0xff) return false;
  const isLow = first === 0 && second === 0 && third === 0;
  if (isLow && fourth === 0) return false;
  // NAT64 and 6to4 forms carry an IPv4 address (RFC 6052, RFC 3056): it is what is dialled in the end.
  if (first === 0x0064ff9b && second === 0 && third === 0) return mayDialEmbedded(fourth, allowLocal);
  if (first >>> 16 === 0x2002) return mayDialEmbedded(((first << 16) | (second >>> 16)) >>> 0, allowLocal);
  return allowLocal || (!isLow && first >>> 22 !== 0xfe80 >>> 6);
}

function keyOf(family: 0 | 4 | 6, words: Uint32Array): string {
  return words.subarray(0, family === 4 ? 1 : 4).join();
}

function mayDialEmbedded(word: number, allowLocal: boolean): boolean {
  return mayDial([24, 16, 8, 0].map((shift) => (word >>> shift) & 255).join("."), allowLocal);
}
