import type { Socket } from "node:net";
import type { Timer } from "../../lib/clock.ts";
import type { Listed } from "../../lib/collections/roster.ts";
import type { ConnectionFacts, HelloFacts, TlsFacts } from "../../traffic/exchange.ts";
import type { AccountConnections } from "./account-connections.ts";
import type { Admission } from "./admission.ts";

/** Where a connection comes from. */
export interface Client {
  /** Unmapped and in canonical form. */
  readonly address: string;
  /** 0 where a proxy did not say. */
  readonly port: number;
}

/** A connection that was accepted, and what ends with it: each listener of its socket's close would cost as much as this. */
export class Arrival implements Listed {
  place = -1;
  readonly socket: Socket;
  /** The peer, or whom it speaks for. */
  client: Client;
  /** The port here that it came to. */
  readonly localPort: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  #admission: Admission | undefined;
  #source: string | undefined;
  #deadline: Timer | undefined;
  #accounts: AccountConnections | undefined;
  #accountId = "";

  constructor(socket: Socket, client: Client, localPort: number, startedAt: number) {
    this.socket = socket;
    this.client = client;
    this.localPort = localPort;
    this.startedAt = startedAt;
  }

  /** What ends it unless that is called off, by the next one or by `endWait`, in time. */
  waitUntil(deadline: Timer): void {
    this.#deadline?.cancel();
    this.#deadline = deadline;
  }

  /** What was waited for has come. */
  endWait(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  /**
   * Lets it in for as long as it is open, or says why not. Once at most.
   * @param source see `Admission.enter`
   */
  admit(admission: Admission, source: string | undefined): ReturnType<Admission["enter"]> {
    const reason = admission.enter(source);
    if (reason !== undefined) return reason;
    this.#admission = admission;
    this.#source = source;
    return undefined;
  }

  /** Counts it to its account for as long as it is open; false when that has as many as it may. Once at most. */
  enter(accounts: AccountConnections, accountId: string): boolean {
    if (accounts.isFull(accountId)) return false;
    accounts.enter(accountId);
    this.#accounts = accounts;
    this.#accountId = accountId;
    return true;
  }

  /** It has closed. */
  closed(): void {
    this.endWait();
    this.#admission?.leave(this.#source);
    this.#admission = undefined;
    this.#accounts?.leave(this.#accountId);
    this.#accounts = undefined;
  }

  /** What is known of it; TLS comes later. */
  facts(hello?: HelloFacts, tls?: TlsFacts): ConnectionFacts {
    const { socket, client, localPort, startedAt } = this;
    return {
      source: client.address,
      sourcePort: client.port,
      local: socket,
      localPort,
      startedAt,
      traffic: socket,
      tls,
      hello,
    };
  }
}
