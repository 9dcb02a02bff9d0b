/** An admitted connection, as rules see and change it. */
import type { OwnCertificate } from "../lib/certificates/own-certificate.ts";
import type { ConnectionFacts, TlsFacts } from "./connection-facts.ts";
import type { Handshake } from "./handshake.ts";

export interface OpenConnection {
  /** What is known about it. Grows when TLS is terminated. */
  readonly facts: ConnectionFacts;
  /**
   * Terminates TLS, so that the upstream receives decrypted bytes. Resolves with an error if the handshake fails, which
   * makes the connection unusable. Absent if there is no TLS left to terminate.
   *
   * @param certificate certificate to send; by default the account's certificate for the name
   */
  readonly endTls?:
    | ((handshake: Handshake, certificate: OwnCertificate | undefined) => Promise<TlsFacts | Error>)
    | undefined;
}
