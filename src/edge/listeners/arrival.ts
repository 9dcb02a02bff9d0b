import type { Socket } from "node:net";
import type { Timer } from "../../lib/clock.ts";
import type { RosterMember } from "../../lib/collections/roster.ts";
import type { AddressFacts } from "../../geo/address-book.ts";
import type { ConnectionFacts, HelloFacts, TlsFacts } from "../../traffic/connection-facts.ts";
import type { AccountConnections } from "./account-connections.ts";
import type { Admission } from "./admission.ts";

/** Source of a connection. */
export interface Client {
  /** Unmapped and in canonical form. */
  readonly address: string;
  /** 0 if a proxy did not name the port. */
  readonly port: number;
}

/**
 * An accepted connection and everything that ends with it. Separate close listeners on the socket would each cost as
 * much as this object.
 */
export class Arrival implements RosterMember {
  place = -1;
  readonly socket: Socket;
  /** The peer, or the client that a proxy names. */
  client: Client;
  /** The local port of the connection. */
  readonly localPort: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly #addresses: AddressFacts | undefined;
  #admission: Admission | undefined;
  #source: string | undefined;
  #deadline: Timer | undefined;
  #accounts: AccountConnections | undefined;
  #accountId = "";

  constructor(
    socket: Socket,
    client: Client,
    localPort: number,
    startedAt: number,
    addresses: AddressFacts | undefined,
  ) {
    this.socket = socket;
    this.client = client;
    this.localPort = localPort;
    this.startedAt = startedAt;
    this.#addresses = addresses;
  }

  /** Sets the timer that ends the connection. The next timer or `endWait` cancels it. */
  waitUntil(deadline: Timer): void {
    this.#deadline?.cancel();
    this.#deadline = deadline;
  }

  /** Cancels the timer. */
  endWait(): void {
    this.#deadline?.cancel();
    this.#deadline = undefined;
  }

  /**
   * Admits the connection while it is open, or returns why it is refused. Call it at most once.
   * @param source see `Admission.enter`
   */
  admit(admission: Admission, source: string | undefined): ReturnType<Admission["enter"]> {
    const reason = admission.enter(source);
    if (reason !== undefined) return reason;
    this.#admission = admission;
    this.#source = source;
    return undefined;
  }

  /**
   * Counts the connection towards its account while it is open. Returns false if the account has reached its maximum.
   * Call it at most once.
   */
  enter(accounts: AccountConnections, accountId: string): boolean {
    if (accounts.isFull(accountId)) return false;
    accounts.enter(accountId);
    this.#accounts = accounts;
    this.#accountId = accountId;
    return true;
  }

  /** Called when the connection has closed. */
  closed(): void {
    this.endWait();
    this.#admission?.leave(this.#source);
    this.#admission = undefined;
    this.#accounts?.leave(this.#accountId);
    this.#accounts = undefined;
  }

  /** Returns the facts about the connection. TLS facts are known later. */
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
      addresses: this.#addresses,
    };
  }
}
