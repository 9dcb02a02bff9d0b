/**
 * TLS session tickets (RFC 5077, RFC 8446 §4.6.1) that are renewed on each use. Node's own tickets are not: after a
 * resumption the client gets no new one. So every second visit would be a full handshake with a signature.
 */
import { randomBytes } from "node:crypto";
import type { SecureContext } from "node:tls";
import type { TicketSecret } from "./ticket-secret.ts";

export interface RenewedTickets {
  /**
   * Makes a context issue and accept renewed tickets. Each context only accepts its own.
   * @param mark identifies the context: 24 hexadecimal digits
   */
  serve(context: SecureContext, mark: string): void;
}

const keyBytes = 16;
const ivsAtOnce = 256;

/** Keys that seal tickets for some hours. */
interface TicketKeys {
  /** 8 hexadecimal digits. With the mark of its context it is the name of a ticket, which is sealed too (RFC 5077 §4). */
  readonly id: string;
  readonly hmac: Buffer;
  readonly aes: Buffer;
}

/** Result for OpenSSL about a ticket (SSL_CTX_set_tlsext_ticket_key_cb): 0 unknown, 1 created, 2 to be renewed. */
type TicketResult = readonly [status: 0 | 1 | 2, hmac: Buffer, aes: Buffer, name?: Buffer, iv?: Buffer];

/** Internal functions of Node's contexts, with which Node tests clients' use of renewed tickets. */
interface Inside {
  onticketkeycallback: (name: Buffer, iv: Buffer, isNew: boolean) => TicketResult;
  enableTicketKeyCallback(): void;
}

/** Tickets of earlier secrets are unknown. */
export function makeRenewedTickets(tickets: TicketSecret): RenewedTickets {
  let keys = makeKeys(tickets);
  tickets.onChange(() => {
    keys = makeKeys(tickets);
  });
  const nextIv = makeIvs();
  return {
    serve(context, mark) {
      const inside = context.context as Inside;
      inside.onticketkeycallback = (name, _iv, isNew) => {
        const { id, hmac, aes } = keys;
        if (isNew) return [1, hmac, aes, Buffer.from(id + mark, "hex"), nextIv()];
        return [name.toString("hex") === id + mark ? 2 : 0, hmac, aes];
      };
      inside.enableTicketKeyCallback();
    },
  };
}

function makeKeys(tickets: TicketSecret): TicketKeys {
  const all = tickets.key("renewed tickets", 2 * keyBytes + 4);
  return {
    id: all.toString("hex", 2 * keyBytes),
    hmac: all.subarray(0, keyBytes),
    aes: all.subarray(keyBytes, 2 * keyBytes),
  };
}

/** Initialization vectors, requested from the system in batches. */
function makeIvs(): () => Buffer {
  let block = Buffer.alloc(0);
  let taken = 0;
  return () => {
    if (taken === block.length) {
      block = randomBytes(ivsAtOnce * keyBytes);
      taken = 0;
    }
    taken += keyBytes;
    return block.subarray(taken - keyBytes, taken);
  };
}
