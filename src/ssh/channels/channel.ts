/** One channel: a stream of bytes in each direction, with the client's window and ours (RFC 4254 §5). */
import { discardingReceiver } from "../../lib/io/byte-stream.ts";
import type { ByteReceiver, ByteStream } from "../../lib/io/byte-stream.ts";
import { ReceiveWindow } from "../../lib/io/receive-window.ts";
import type { WindowBudget } from "../../lib/io/receive-window.ts";
import { numbers } from "../numbers.ts";
import { encodeMessage, SshViolation, encodeString, encodeUint32 } from "../ssh-wire.ts";

/** Maximum bytes of data in one packet to this server. */
export const maxDataBytes = 32_768;
const stderrCode = 1;
/** Maximum credit of the client (RFC 4254 §5.2). */
const maxCredit = 2 ** 32 - 1;

/** What a channel needs of its connection. */
export interface ChannelHost {
  readonly canSend: boolean;
  send(...parts: readonly Uint8Array[]): void;
  /** The channel has bytes that wait for the connection. */
  wait(channel: Channel): void;
  /** Both ends have closed the channel. */
  forget(channel: Channel): void;
}

export interface ChannelFacts {
  readonly id: number;
  /** The client's number for the channel. */
  readonly remoteId: number;
  /** Bytes that the client accepts. */
  readonly credit: number;
  /** Maximum bytes of data in one packet to the client. */
  readonly maxBytes: number;
}

export class Channel implements ByteStream {
  receiver: ByteReceiver = discardingReceiver;
  readonly id: number;
  /** Whether it is in the list of channels that wait for the connection. */
  isWaiting = false;
  readonly #host: ChannelHost;
  readonly #remoteId: number;
  readonly #maxBytes: number;
  readonly #window: ReceiveWindow;
  readonly #header = Buffer.alloc(9);
  #credit: number;
  #queue: Uint8Array[] = [];
  /** Bytes in `#queue`. */
  queued = 0;
  #owesDrain = false;
  #ends = false;
  #sentEnd = false;
  #sentClose = false;
  #gotEnd = false;
  #gotClose = false;
  #isOver = false;

  constructor(host: ChannelHost, budget: WindowBudget, facts: ChannelFacts) {
    this.#host = host;
    this.id = facts.id;
    this.#remoteId = facts.remoteId;
    this.#credit = facts.credit;
    this.#maxBytes = Math.min(facts.maxBytes, maxDataBytes);
    this.#window = new ReceiveWindow(budget);
    this.#header[0] = numbers.channelData;
    this.#header.writeUInt32BE(this.#remoteId, 1);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#ends || this.#isOver || bytes.length === 0) return true;
    this.#queue.push(bytes);
    this.queued += bytes.length;
    if (!this.isWaiting) this.flush(Infinity);
    if (this.queued === 0) return true;
    this.#owesDrain = true;
    return false;
  }

  writeLatin1(text: string): boolean {
    return this.write(Buffer.from(text, "latin1"));
  }

  /** Writes to the client's standard error, outside the order of `write`. */
  writeError(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#sentEnd || this.#isOver || bytes.length > this.#credit) return;
    this.#credit -= bytes.length;
    this.#host.send(
      encodeMessage(
        numbers.channelExtendedData,
        encodeUint32(this.#remoteId),
        encodeUint32(stderrCode),
        encodeString(bytes),
      ),
    );
  }

  end(): void {
    if (this.#ends || this.#isOver) return;
    this.#ends = true;
    if (this.queued === 0) this.#sendEnd();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#drop();
    this.#sendClose();
    this.#closed(new Error("the channel was closed"));
  }

  consumed(byteCount: number): void {
    const increment = this.#isOver || this.#gotEnd ? 0 : this.#window.consumed(byteCount);
    if (increment > 0) this.#send(numbers.channelWindow, encodeUint32(increment));
  }

  /** Sends a request about this channel that wants no reply, such as `exit-status`. */
  request(name: string, ...fields: readonly Uint8Array[]): void {
    if (!this.#sentClose) this.#send(numbers.channelRequest, encodeString(name), Buffer.of(0), ...fields);
  }

  /** Answers a request of the client. */
  reply(isAccepted: boolean): void {
    if (!this.#sentClose) this.#send(isAccepted ? numbers.channelSuccess : numbers.channelFailure);
  }

  /** Sends at most `maxBytes` of what waits. */
  flush(maxBytes: number): void {
    let left = maxBytes;
    while (this.queued > 0 && this.#credit > 0 && left > 0) {
      if (!this.#host.canSend) break;
      left -= this.#sendOne();
    }
    if (this.queued > 0) {
      if (this.#credit > 0) this.#host.wait(this);
      return;
    }
    if (this.#ends) this.#sendEnd();
    if (!this.#owesDrain) return;
    this.#owesDrain = false;
    this.receiver.drained();
  }

  arrive(bytes: Buffer): void {
    if (this.#gotEnd || this.#gotClose) throw new SshViolation("data after the end of a channel");
    if (bytes.length > maxDataBytes || !this.#window.arrive(bytes.length)) {
      throw new SshViolation("more data than the window of a channel");
    }
    if (this.#isOver) return;
    this.receiver.data(bytes);
  }

  /** The client accepts more bytes. */
  allow(bytes: number): void {
    if (this.#credit + bytes > maxCredit) throw new SshViolation("the window of a channel is too large");
    this.#credit += bytes;
    if (!this.isWaiting) this.flush(Infinity);
  }

  /** The client sends no more data. */
  arriveEnd(): void {
    if (this.#gotEnd || this.#gotClose) return;
    this.#gotEnd = true;
    if (this.#isOver) return;
    this.receiver.ended();
    this.#closeIfDone();
  }

  arriveClose(): void {
    if (this.#gotClose) throw new SshViolation("a channel was closed twice");
    this.#gotClose = true;
    const isClean = this.#gotEnd && this.#sentEnd;
    this.#drop();
    this.#sendClose();
    this.#host.forget(this);
    this.#closed(isClean ? undefined : new Error("the client closed the channel"));
  }

  /** The connection has ended. */
  lost(error: Error): void {
    this.#sentClose = true;
    this.#drop();
    this.#closed(error);
  }

  #sendOne(): number {
    const first = this.#queue[0] as Uint8Array;
    const length = Math.min(first.length, this.#maxBytes, this.#credit);
    const isWhole = length === first.length;
    if (isWhole) this.#queue.shift();
    else this.#queue[0] = first.subarray(length);
    this.queued -= length;
    this.#credit -= length;
    this.#header.writeUInt32BE(length, 5);
    this.#host.send(this.#header, isWhole ? first : first.subarray(0, length));
    return length;
  }

  #sendEnd(): void {
    if (this.#sentEnd || this.#sentClose) return;
    this.#sentEnd = true;
    this.#send(numbers.channelEnd);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (!this.#sentEnd || !this.#gotEnd || this.#isOver) return;
    this.#sendClose();
    this.#closed(undefined);
  }

  #sendClose(): void {
    if (this.#sentClose) return;
    this.#sentClose = true;
    this.#send(numbers.channelClose);
  }

  #send(number: number, ...fields: readonly Uint8Array[]): void {
    this.#host.send(encodeMessage(number, encodeUint32(this.#remoteId), ...fields));
  }

  #drop(): void {
    this.#queue = [];
    this.queued = 0;
    this.#ends = true;
  }

  #closed(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#window.close();
    this.receiver.closed(error);
  }
}
