/**
 * Tickets of TLS sessions (RFC 5077, RFC 8446 §4.6.1) of which a client is given another with each that it uses. Node makes
 * tickets as well, but leaves whoever has used one without: every second visit is a whole handshake, with a signature.
 */
import { randomBytes } from "node:crypto";
import type { SecureContext } from "node:tls";
import type { Clock, Timer } from "../../lib/clock.ts";

export interface RenewedTickets {
  /**
   * Has a context make and take them; no other takes those of this one.
   * @param mark tells it from others: 24 hexadecimal digits
   */
  serve(context: SecureContext, mark: string): void;
  stop(): void;
}

const keyBytes = 16;
const ivsAtOnce = 256;

/** What tickets are sealed with for some hours. */
interface Keys {
  /** 8 hexadecimal digits. With the mark of its context it is the name of a ticket, which is sealed too (RFC 5077 §4). */
  readonly id: string;
  readonly hmac: Buffer;
  readonly aes: Buffer;
}

/** What OpenSSL is told of a ticket (SSL_CTX_set_tlsext_ticket_key_cb): 0 that it is not known, 1 made, 2 to be renewed. */
type Answer = readonly [status: 0 | 1 | 2, hmac: Buffer, aes: Buffer, name?: Buffer, iv?: Buffer];

/** What Node's contexts have inside, with which it tests what clients do with renewed tickets. */
interface Inside {
  onticketkeycallback: (name: Buffer, iv: Buffer, isNew: boolean) => Answer;
  enableTicketKeyCallback(): void;
}

/** @param rotationMs between one set of keys and the next; tickets of those before are not known any more */
export function makeRenewedTickets(clock: Clock, rotationMs: number): RenewedTickets {
  let keys = makeKeys();
  const rotation: Timer = clock.every(rotationMs, () => {
    keys = makeKeys();
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
    stop: () => rotation.cancel(),
  };
}

function makeKeys(): Keys {
  return { id: randomBytes(4).toString("hex"), hmac: randomBytes(keyBytes), aes: randomBytes(keyBytes) };
}

/** Initialization vectors, for which the system is asked for many at a time. */
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
