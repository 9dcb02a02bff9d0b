import type { AddressFacts } from "../geo/address-book.ts";
import type { Handshake } from "./handshake.ts";

export interface ConnectionFacts {
  /**
   * Client address as text, with IPv4-mapped IPv6 addresses unmapped: "192.0.2.1". This is the peer, or the client that
   * a trusted proxy names in a PROXY protocol header or, per request, in X-Forwarded-For.
   */
  readonly source: string;
  /** 0 if the proxy did not name it. */
  readonly sourcePort: number;
  /** The local end of the connection. */
  readonly local: LocalEnd;
  readonly localPort: number;
  /** Wall clock at accept, milliseconds since 1970. */
  readonly startedAt: number;
  /** Bytes transferred so far, including TLS; absent in a dry run. */
  readonly traffic?: ConnectionTraffic | undefined;
  /** Absent on plain connections, and while the edge has not terminated TLS. */
  readonly tls: TlsFacts | undefined;
  /** The ClientHello; absent on plain connections. */
  readonly hello?: HelloFacts | undefined;
  /** Locations and categories of addresses. Default: unknown. */
  readonly addresses?: AddressFacts | undefined;
}

/** Read from the system on demand, because few callers need it. */
export interface LocalEnd {
  /** Absent after the connection has closed, and in a dry run. */
  readonly localAddress?: string | undefined;
}

/** The unencrypted content of a ClientHello. */
export interface HelloFacts {
  /** Lower case, without a trailing dot; "" if the client sends no server name. */
  readonly serverName: string;
  /** Protocols offered, in the client's order (RFC 7301). */
  readonly alpn: readonly string[];
  /** The client's fingerprint; absent in a dry run. */
  readonly ja4?: string;
}

/** Bytes from the client, and to it. */
export interface ConnectionTraffic {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

export interface TlsFacts {
  /** See `HelloFacts`. */
  readonly serverName: string;
  readonly version: string;
  readonly cipher: string;
  /** Requirements of the handshake; absent in a dry run. */
  readonly demands?: Handshake;
  /** The protocol that ALPN selected, "" for none; absent in a dry run. */
  readonly alpn?: string;
  /**
   * The client certificate, DER, if one was requested and sent. It is verified, unless a policy disabled verification
   * for the handshake.
   */
  readonly clientCertificate: Buffer | undefined;
  /** When the handshake was complete, milliseconds since 1970; absent inside another connection, and in a dry run. */
  readonly completedAt?: number;
  /** The certificate sent in the handshake; absent in a dry run. */
  readonly serverCertificate?: ServedCertificate | undefined;
}

export interface ServedCertificate {
  /** Leaf first. */
  readonly certificatePem: string;
}
