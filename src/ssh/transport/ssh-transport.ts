/** The binary packets of one SSH connection: identification, key exchanges, and the order of messages (RFC 4253). */
import type { Socket } from "node:net";
import type { Clock, Timer } from "../../lib/clock.ts";
import { guardListener } from "../../lib/boundary.ts";
import type { HostKey } from "../keys/host-key.ts";
import { loginAlgorithms } from "../keys/user-certificate.ts";
import { numbers, reasons } from "../numbers.ts";
import { encodeMessage, SshViolation, encodeString, encodeUint32 } from "../ssh-wire.ts";
import { Arrived } from "./arrived.ts";
import { agreeAlgorithms, exchangeKeys, makeOffer, readOffer } from "./key-exchange.ts";
import type { Agreement, Exchanged, Offer } from "./key-exchange.ts";
import { makeOpener, makeSealer, plainOpener, plainSealer } from "./packet-cipher.ts";
import type { Opener, PacketSealer } from "./packet-cipher.ts";

/** Keys are replaced after this many bytes in one direction, packets, or this time (RFC 4253 §9, RFC 4344 §3). */
export interface RekeyLimits {
  readonly bytes: number;
  readonly packets: number;
  readonly afterMs: number;
}

export const usualRekey: RekeyLimits = { bytes: 1024 ** 3, packets: 2 ** 30, afterMs: 60 * 60 * 1000 };

/** Maximum bytes of the client's identification (RFC 4253 §4.2). */
const maxVersionBytes = 255;
/** Maximum bytes of messages that wait for the end of a key exchange, and of those that the client does not read. */
const maxHeldBytes = 4 * 1024 * 1024;
/** Bytes that may wait in the socket before `canSend` is false. */
const socketBytes = 256 * 1024;
/** Maximum time of a key exchange, milliseconds. */
const exchangeMs = 20_000;
/** Maximum time for the client to read the last messages, milliseconds. */
const lingerMs = 2_000;
/** An exchange that follows this soon, after this few bytes, is needless. A client may ask for a few of them. */
const needless = { bytes: 256 * 1024, withinMs: 10_000, most: 10 };

export interface TransportOptions {
  readonly clock: Clock;
  readonly hostKey: HostKey;
  /** Identification of this end, such as `SSH-2.0-Postern_1.0`. */
  readonly version: string;
  readonly rekey?: RekeyLimits | undefined;
}

export interface TransportHandlers {
  /** Called with each message that the transport does not use. May throw `SshViolation`. */
  message(number: number, payload: Buffer): void;
  /** There is room to send data again. */
  drained(): void;
  /** Called once. `error` is set unless one end disconnected. */
  closed(error: Error | undefined): void;
}

export class Transport {
  /** The client's identification, such as `SSH-2.0-OpenSSH_9.2`; "" before it arrived. */
  clientVersion = "";
  /** Hash of the first key exchange; undefined before it. */
  sessionId: Buffer | undefined;
  /** Monotonic time at which anything last arrived. */
  heardAt: number;
  readonly #socket: Socket;
  readonly #options: TransportOptions;
  readonly #handlers: TransportHandlers;
  readonly #rekey: RekeyLimits;
  readonly #arrived = new Arrived();
  #sealer: PacketSealer = plainSealer;
  #opener: Opener = plainOpener;
  #nextOpener: Opener | undefined;
  #nextSessionId: Buffer | undefined;
  #sent = 0;
  #received = 0;
  /** Length of the packet that arrives; 0 if unknown. */
  #expected = 0;
  #isStrict = false;
  #ownOffer: Buffer | undefined;
  #agreement: Agreement | undefined;
  #offer: Offer | undefined;
  #skipsNext = false;
  #deadline: Timer | undefined;
  /** Messages that wait for the end of the key exchange. */
  #held: (readonly Uint8Array[])[] = [];
  #heldBytes = 0;
  #bytesSinceKeys = 0;
  #packetsSinceKeys = 0;
  #keysSince: number;
  #needless = 0;
  #isOver = false;

  constructor(socket: Socket, options: TransportOptions, handlers: TransportHandlers) {
    this.#socket = socket;
    this.#options = options;
    this.#handlers = handlers;
    this.#rekey = options.rekey ?? usualRekey;
    this.#keysSince = options.clock.monotonic();
    this.heardAt = this.#keysSince;
    socket.setNoDelay(true);
    socket.on(
      "data",
      guardListener(socket, (bytes: Buffer) => this.#arrive(bytes)),
    );
    socket.on("drain", () => {
      if (this.canSend) handlers.drained();
    });
    socket.on("error", (error) => this.#over(error));
    socket.on("end", () => this.end());
    socket.on("close", () => this.#over(undefined));
    socket.write(`${options.version}\r\n`);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether data can be sent now. Other messages are always accepted. */
  get canSend(): boolean {
    return !this.#isOver && this.#ownOffer === undefined && this.#socket.writableLength < socketBytes;
  }

  /** Sends a message that consists of `parts`. */
  send(...parts: readonly Uint8Array[]): void {
    if (this.#isOver) return;
    const number = (parts[0] as Uint8Array)[0] as number;
    const isOfExchange = number <= numbers.debug || (number >= numbers.keyExchange && number < numbers.authRequest);
    if (this.#ownOffer !== undefined && this.sessionId !== undefined && !isOfExchange) {
      for (const part of parts) this.#heldBytes += part.length;
      this.#held.push(parts);
      if (this.#heldBytes > maxHeldBytes) this.#over(new SshViolation("too many messages wait for a key exchange"));
      return;
    }
    this.#write(parts);
  }

  /** Sends a reason that the client shows, and ends the connection. */
  disconnect(reason: number, text: string): void {
    this.#finish(reason, text, undefined);
  }

  /** Ends the connection after everything that was written. */
  end(): void {
    this.#finish(undefined, "", undefined);
  }

  #fail(reason: number, error: SshViolation): void {
    this.#finish(reason, error.message, error);
  }

  #finish(reason: number | undefined, text: string, error: Error | undefined): void {
    if (this.#isOver) return;
    if (reason !== undefined && this.clientVersion !== "") {
      this.#write([encodeMessage(numbers.disconnect, encodeUint32(reason), encodeString(text), encodeString(""))]);
      if (this.#isOver) return;
    }
    this.#isOver = true;
    this.#deadline?.cancel();
    this.#socket.end();
    // A client that reads nothing must not hold the socket.
    const timer = this.#options.clock.after(lingerMs, () => this.#socket.destroy());
    this.#socket.once("close", () => timer.cancel());
    this.#handlers.closed(error);
  }

  #write(parts: readonly Uint8Array[]): void {
    const packet = this.#sealer.seal(parts, this.#sent);
    this.#sent = (this.#sent + 1) >>> 0;
    this.#count(packet.length);
    // The packets of one turn leave together.
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    this.#socket.write(packet);
    if (this.#socket.writableLength > 2 * maxHeldBytes) this.#over(new SshViolation("the client reads nothing"));
  }

  #count(bytes: number): void {
    this.#bytesSinceKeys += bytes;
    this.#packetsSinceKeys += 1;
    const { bytes: maxBytes, packets, afterMs } = this.#rekey;
    if (this.sessionId === undefined || this.#ownOffer !== undefined) return;
    const isDue =
      this.#bytesSinceKeys > maxBytes ||
      this.#packetsSinceKeys > packets ||
      this.#options.clock.monotonic() - this.#keysSince > afterMs;
    // Runs after the present packet is written.
    if (isDue) queueMicrotask(() => this.#offerKeys());
  }

  #arrive(bytes: Buffer): void {
    if (this.#isOver) return;
    this.heardAt = this.#options.clock.monotonic();
    this.#arrived.add(bytes);
    try {
      if (this.clientVersion === "" && !this.#readVersion()) return;
      while (!this.#isOver && this.#readPacket());
    } catch (error) {
      if (!(error instanceof SshViolation)) throw error;
      this.#fail(this.sessionId ? reasons.protocol : reasons.exchangeFailed, error);
    }
  }

  #readVersion(): boolean {
    const line = this.#arrived.line(maxVersionBytes);
    if (line === undefined) {
      if (this.#arrived.length > maxVersionBytes) throw new SshViolation("the identification is too long");
      return false;
    }
    if (!/^SSH-2\.0-[\x20-\x7e]+$/.test(line)) {
      this.#socket.end("This port expects an SSH client.\r\n");
      this.end();
      return false;
    }
    this.clientVersion = line;
    this.#offerKeys();
    return true;
  }

  #readPacket(): boolean {
    const opener = this.#opener;
    if (this.#expected === 0) {
      if (this.#arrived.length < opener.headBytes) return false;
      this.#expected = opener.length(this.#arrived.peek(opener.headBytes));
    }
    if (this.#arrived.length < this.#expected) return false;
    const packet = this.#arrived.take(this.#expected);
    this.#expected = 0;
    const payload = opener.open(packet, this.#received);
    this.#received = (this.#received + 1) >>> 0;
    if (payload.length === 0) throw new SshViolation("a message is empty");
    this.#count(packet.length);
    this.#take(payload[0] as number, payload);
    return true;
  }

  #take(number: number, payload: Buffer): void {
    const isFirst = this.sessionId === undefined;
    if (number === numbers.disconnect) return this.end();
    if (number <= numbers.debug) {
      // RFC 4253 §11, and no message at all during the first exchange of a strict client.
      if (isFirst && this.#isStrict) throw new SshViolation("unexpected message during the key exchange");
      return;
    }
    if (number === numbers.keyExchange) return this.#offered(payload);
    if (this.#offer !== undefined || isFirst) {
      if (this.#skipsNext) {
        this.#skipsNext = false;
        return;
      }
      if (number === numbers.exchangeInit && this.#agreement && !this.#nextOpener) return this.#exchange(payload);
      if (number === numbers.newKeys && this.#nextOpener) return this.#changeOpener(this.#nextOpener);
      throw new SshViolation("unexpected message during the key exchange");
    }
    this.#handlers.message(number, payload);
  }

  /** Sends this end's algorithms, with which a key exchange begins. */
  #offerKeys(): void {
    if (this.#isOver || this.#ownOffer !== undefined) return;
    this.#ownOffer = makeOffer(this.#options.hostKey, this.sessionId === undefined);
    this.#deadline = this.#options.clock.after(exchangeMs, () =>
      this.disconnect(reasons.exchangeFailed, "the key exchange takes too long"),
    );
    this.#write([this.#ownOffer]);
  }

  #offered(payload: Buffer): void {
    if (this.#offer !== undefined || this.#nextOpener !== undefined) {
      throw new SshViolation("unexpected message during the key exchange");
    }
    if (this.sessionId !== undefined && this.#ownOffer === undefined) this.#limitExchanges();
    this.#offerKeys();
    const offer = readOffer(payload);
    const agreement = agreeAlgorithms(offer, this.#options.hostKey);
    if (this.sessionId === undefined) {
      this.#isStrict = agreement.isStrict;
      if (this.#isStrict && this.#received !== 1) throw new SshViolation("a message precedes the key exchange");
    }
    this.#offer = offer;
    this.#agreement = agreement;
    this.#skipsNext = agreement.skipsNext;
  }

  /** A key exchange costs the server more than the client. */
  #limitExchanges(): void {
    const elapsedMs = this.#options.clock.monotonic() - this.#keysSince;
    if (this.#bytesSinceKeys >= needless.bytes || elapsedMs >= needless.withinMs) return;
    this.#needless += 1;
    if (this.#needless > needless.most) throw new SshViolation("too many key exchanges");
  }

  #exchange(init: Buffer): void {
    const { hostKey, version } = this.#options;
    const exchanged: Exchanged = exchangeKeys(this.#agreement as Agreement, init, {
      clientVersion: this.clientVersion,
      serverVersion: version,
      clientOffer: (this.#offer as Offer).bytes,
      serverOffer: this.#ownOffer as Buffer,
      hostKey,
    });
    const isFirst = this.sessionId === undefined;
    const sessionId = this.sessionId ?? exchanged.exchangeHash;
    const keys = exchanged.keys(sessionId);
    this.#write([exchanged.reply]);
    this.#write([encodeMessage(numbers.newKeys)]);
    this.#sealer = makeSealer(keys.out);
    if (this.#isStrict) this.#sent = 0;
    this.#nextOpener = makeOpener(keys.in);
    this.#nextSessionId = sessionId;
    if (isFirst && this.#agreement?.wantsExtensions) this.#write([encodeExtensions()]);
  }

  #changeOpener(opener: Opener): void {
    this.#opener = opener;
    if (this.#isStrict) this.#received = 0;
    this.sessionId = this.#nextSessionId;
    this.#nextOpener = undefined;
    this.#ownOffer = undefined;
    this.#offer = undefined;
    this.#agreement = undefined;
    this.#deadline?.cancel();
    this.#deadline = undefined;
    this.#bytesSinceKeys = 0;
    this.#packetsSinceKeys = 0;
    this.#keysSince = this.#options.clock.monotonic();
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const parts of held) this.send(...parts);
    if (this.canSend) this.#handlers.drained();
  }

  #over(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.cancel();
    this.#socket.destroy();
    this.#handlers.closed(error);
  }
}

/** RFC 8308 §3.1: without it, OpenSSH would sign with SHA-1 for RSA keys. */
function encodeExtensions(): Buffer {
  return encodeMessage(
    numbers.extensions,
    encodeUint32(1),
    encodeString("server-sig-algs"),
    encodeString(loginAlgorithms.join(",")),
  );
}
