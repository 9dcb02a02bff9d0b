/** The channels of one connection: their numbers, their limits, and whose turn it is to send (RFC 4254 §5). */
import type { Clock } from "../../lib/clock.ts";
import { WindowBudget } from "../../lib/io/receive-window.ts";
import type { WindowReserve } from "../../lib/io/receive-window.ts";
import { channelReasons, numbers } from "../numbers.ts";
import type { Transport } from "../transport/ssh-transport.ts";
import { encodeMessage, SshViolation, encodeString, encodeUint32, WireReader } from "../ssh-wire.ts";
import { Channel, maxDataBytes } from "./channel.ts";
import type { ChannelHost } from "./channel.ts";

/** Window of a channel at its start, and at most, bytes. */
const firstWindow = 256 * 1024;
const maxWindow = 4 * 1024 * 1024;

export interface ChannelLimits {
  /** Maximum number of open channels for visitors. */
  readonly forwarded: number;
  /** Maximum number of channels that the client opens. */
  readonly sessions: number;
}

export interface ChannelsOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly limits: ChannelLimits;
  /** For windows that grow. */
  readonly reserve: WindowReserve;
  /** The client has opened a channel for a terminal or command. */
  readonly opened: (channel: Channel) => void;
  /** The client requests something of a channel. Returns whether it is accepted. */
  readonly requested: (channel: Channel, name: string, reader: WireReader) => boolean;
}

type Opening = (channel: Channel | undefined, why?: string) => void;

export class Channels implements ChannelHost {
  readonly windows: WindowBudget;
  readonly #options: ChannelsOptions;
  readonly #channels = new Map<number, Channel>();
  /** Channels that the client has not confirmed. */
  readonly #opening = new Map<number, Opening>();
  /** Channels with bytes that wait for the connection, in their order. */
  #waiting: Channel[] = [];
  #nextId = 0;
  #sessions = 0;
  #forwarded = 0;
  readonly #sessionIds = new Set<number>();

  constructor(options: ChannelsOptions) {
    this.#options = options;
    this.windows = new WindowBudget(options.clock, firstWindow);
    this.windows.allow(maxWindow, options.reserve);
  }

  get canSend(): boolean {
    return this.#options.transport.canSend;
  }

  send(...parts: readonly Uint8Array[]): void {
    this.#options.transport.send(...parts);
  }

  wait(channel: Channel): void {
    if (channel.isWaiting) return;
    channel.isWaiting = true;
    this.#waiting.push(channel);
  }

  forget(channel: Channel): void {
    if (!this.#channels.delete(channel.id)) return;
    if (this.#sessionIds.delete(channel.id)) this.#sessions -= 1;
    else this.#forwarded -= 1;
  }

  /** The connection has room again: each channel sends one packet in turn. */
  drained(): void {
    while (this.canSend && this.#waiting.length > 0) {
      const turn = this.#waiting;
      this.#waiting = [];
      for (const channel of turn) {
        channel.isWaiting = false;
        channel.flush(maxDataBytes);
      }
    }
  }

  /**
   * Opens a channel to the client's service. `done` is called once.
   * @param fields what follows the common fields of the message
   */
  open(type: string, fields: readonly Uint8Array[], done: Opening): void {
    if (this.#forwarded >= this.#options.limits.forwarded) return done(undefined, "too many open connections");
    this.#forwarded += 1;
    const id = this.#takeId();
    this.#opening.set(id, done);
    this.send(
      encodeMessage(
        numbers.channelOpen,
        encodeString(type),
        encodeUint32(id),
        encodeUint32(firstWindow),
        encodeUint32(maxDataBytes),
        ...fields,
      ),
    );
  }

  /** Returns false if the message is not about channels. */
  take(number: number, payload: Buffer): boolean {
    if (number < numbers.channelOpen || number > numbers.channelFailure) return false;
    const reader = new WireReader(payload, 1);
    if (number === numbers.channelOpen) this.#openedByClient(reader);
    else if (number === numbers.channelOpened) this.#confirmed(reader);
    else if (number === numbers.channelRefused) this.#refused(reader);
    else this.#about(number, this.#channel(reader.uint32()), reader);
    return true;
  }

  lost(error: Error): void {
    const all = [...this.#channels.values()];
    const opening = [...this.#opening.values()];
    this.#channels.clear();
    this.#opening.clear();
    this.#waiting = [];
    for (const done of opening) done(undefined, "the connection has ended");
    for (const channel of all) channel.lost(error);
  }

  #about(number: number, channel: Channel, reader: WireReader): void {
    switch (number) {
      case numbers.channelWindow:
        return channel.allow(reader.uint32());
      case numbers.channelData:
        return channel.arrive(reader.string());
      case numbers.channelExtendedData: {
        reader.uint32();
        const { length } = reader.string();
        // It has no recipient.
        return channel.consumed(length);
      }
      case numbers.channelEnd:
        return channel.arriveEnd();
      case numbers.channelClose:
        return channel.arriveClose();
      case numbers.channelRequest:
        return this.#request(channel, reader);
      default:
    }
  }

  #request(channel: Channel, reader: WireReader): void {
    const name = reader.text();
    const wantsReply = reader.boolean();
    const isAccepted = this.#sessionIds.has(channel.id) && this.#options.requested(channel, name, reader);
    if (wantsReply && !channel.isOver) channel.reply(isAccepted);
  }

  #openedByClient(reader: WireReader): void {
    const type = reader.text();
    const remoteId = reader.uint32();
    const credit = reader.uint32();
    const maxBytes = reader.uint32();
    const refuse = (reason: number, text: string): void =>
      this.send(
        encodeMessage(
          numbers.channelRefused,
          encodeUint32(remoteId),
          encodeUint32(reason),
          encodeString(text),
          encodeString(""),
        ),
      );
    if (type !== "session") {
      const known = ["direct-tcpip", "direct-streamlocal@openssh.com", "x11", "auth-agent@openssh.com"];
      if (!known.includes(type)) return refuse(channelReasons.unknownType, "unknown type of channel");
      return refuse(channelReasons.prohibited, "this server only publishes services (ssh -R)");
    }
    if (this.#sessions >= this.#options.limits.sessions) {
      return refuse(channelReasons.resources, "too many sessions in one connection");
    }
    if (maxBytes < 1) throw new SshViolation("a channel accepts no data");
    this.#sessions += 1;
    const id = this.#takeId();
    this.#sessionIds.add(id);
    const channel = new Channel(this, this.windows, { id, remoteId, credit, maxBytes });
    this.#channels.set(id, channel);
    this.send(
      encodeMessage(
        numbers.channelOpened,
        encodeUint32(remoteId),
        encodeUint32(id),
        encodeUint32(firstWindow),
        encodeUint32(maxDataBytes),
      ),
    );
    this.#options.opened(channel);
  }

  #confirmed(reader: WireReader): void {
    const id = reader.uint32();
    const done = this.#takeOpening(id);
    const facts = { id, remoteId: reader.uint32(), credit: reader.uint32(), maxBytes: reader.uint32() };
    if (facts.maxBytes < 1) throw new SshViolation("a channel accepts no data");
    const channel = new Channel(this, this.windows, facts);
    this.#channels.set(id, channel);
    done(channel);
  }

  #refused(reader: WireReader): void {
    const done = this.#takeOpening(reader.uint32());
    reader.uint32();
    this.#forwarded -= 1;
    done(undefined, reader.text());
  }

  #takeOpening(id: number): Opening {
    const done = this.#opening.get(id);
    if (!done) throw new SshViolation("an answer about an unknown channel");
    this.#opening.delete(id);
    return done;
  }

  #channel(id: number): Channel {
    const channel = this.#channels.get(id);
    if (!channel) throw new SshViolation("a message about an unknown channel");
    return channel;
  }

  #takeId(): number {
    do this.#nextId = (this.#nextId + 1) >>> 0;
    while (this.#channels.has(this.#nextId) || this.#opening.has(this.#nextId));
    return this.#nextId;
  }
}
