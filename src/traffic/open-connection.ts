/** A whole connection that was let in, as what decides over it sees and changes it. */
import type { OwnCertificate } from "../lib/certificates/own-certificate.ts";
import type { ConnectionFacts, TlsFacts } from "./exchange.ts";
import type { Handshake } from "./handshake.ts";

export interface OpenConnection {
  /** What is known of it now: more once TLS was ended. */
  readonly facts: ConnectionFacts;
  /**
   * Ends TLS here, so that what follows gets the decrypted bytes. Resolves with an error when the handshake fails: the
   * connection is of no use any more. Absent where no TLS is left to end.
   *
   * @param certificate what is shown; the one that the account has for the name unless given
   */
  readonly endTls?:
    | ((handshake: Handshake, certificate: OwnCertificate | undefined) => Promise<TlsFacts | Error>)
    | undefined;
}
