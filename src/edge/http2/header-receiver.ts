import { HostReader } from "../../http1/host-reader.ts";
import { admitTrailers } from "../../http1/trailer-fields.ts";
import type { ClientConnection } from "../http/visitor-connection.ts";
import { newRequestId } from "../../lib/traffic-ids.ts";
import type { Faults } from "./faults.ts";
import { errorCode } from "../../http2/http2-frames.ts";
import { HeadBuilder } from "../../http2/head-builder.ts";
import { HeaderBlocks, hollow, unfinished } from "../../http2/header-blocks.ts";
import type { BlockProgress } from "../../http2/header-blocks.ts";
import { HpackDecoder } from "../../http2/hpack-decoder.ts";
import type { PeerSettings } from "../../http2/peer-settings.ts";
import { answerRefusal } from "./http2-refusal.ts";
import { readHead } from "./read-request-head.ts";
import type { Malformed } from "./read-request-head.ts";
import { Http2Stream } from "./http2-stream.ts";
import { maxStreams } from "./stream-set.ts";
import type { StreamSet } from "./stream-set.ts";

/** Shared by all connections, because a block is decoded synchronously. */
const head = new HeadBuilder();

/** Turns a connection's header blocks into streams and trailers. */
export class HeaderReceiver {
  /** Whether new streams are no longer opened. */
  isDraining = false;
  readonly #shared: ClientConnection;
  readonly #streams: StreamSet;
  readonly #peer: PeerSettings;
  readonly #faults: Faults;
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HpackDecoder();
  readonly #hosts = new HostReader();

  constructor(shared: ClientConnection, streams: StreamSet, peer: PeerSettings, faults: Faults) {
    this.#shared = shared;
    this.#streams = streams;
    this.#peer = peer;
    this.#faults = faults;
  }

  /** Time at which the current header block began, in `Deadlines.now`. Infinity without one. */
  get openSince(): number {
    return this.#blocks.openSince;
  }

  headers(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#block(this.#blocks.headers(flags, streamId, bytes, start, end, this.#shared.context.deadlines.now));
  }

  continuation(flags: number, streamId: number, bytes: Buffer, start: number, end: number): void {
    this.#block(this.#blocks.continuation(flags, streamId, bytes, start, end));
  }

  #block(block: BlockProgress): void {
    if (block === unfinished) return;
    if (block === hollow) {
      this.#faults.count("hollow");
      return;
    }
    if ("code" in block) return this.#faults.broken(block.code, block.reason);
    const { limits } = this.#shared.context;
    head.start(limits.maxHeadBytes, limits.maxFields);
    if (!this.#decoder.decode(block.bytes, block.start, block.end, head)) {
      return this.#faults.broken(errorCode.compressionError, "header block cannot be decoded");
    }
    const stream = this.#streams.get(block.streamId);
    if (stream !== undefined) this.#trailers(stream, block.endStream);
    else this.#request(block.streamId, block.endStream);
  }

  #request(streamId: number, endStream: boolean): void {
    const streams = this.#streams;
    if (streamId <= streams.lastId) {
      if (streams.answeredEarly.has(streamId)) return this.#lateTrailers(streamId, endStream);
      if (!streams.wasReset(streamId)) this.#faults.broken(errorCode.streamClosed, "HEADERS on a closed stream");
      return;
    }
    streams.lastId = streamId;
    if (this.isDraining || streams.size >= maxStreams) {
      streams.refuse(streamId, errorCode.refusedStream);
      this.#faults.count("resets");
      return;
    }
    const { scheme, context } = this.#shared;
    const request = readHead(head, scheme, context.limits.maxTargetBytes, endStream, this.#hosts);
    if ("fault" in request) return this.#malformed(streamId, request, endStream);
    const opened = new Http2Stream(streamId, streams, this.#shared, request, endStream, this.#peer.initialWindow);
    streams.add(opened);
    opened.exchange.start();
  }

  /** Ends an answered request on its trailers, without reading their fields. */
  #lateTrailers(streamId: number, endStream: boolean): void {
    const { answeredEarly } = this.#streams;
    answeredEarly.ended(streamId);
    if (endStream) return;
    this.#streams.refuse(streamId, errorCode.protocolError);
    this.#faults.count("resets");
  }

  /** Handles an invalid request: answers it if possible, otherwise resets the stream. */
  #malformed(streamId: number, { fault, refusal }: Malformed, endStream: boolean): void {
    const { counters, log, clock } = this.#shared.context;
    const id = newRequestId(clock.now());
    counters.malformed += 1;
    log.info("request refused", { reason: fault, source: this.#shared.facts.source, request: id.text });
    const streams = this.#streams;
    if (refusal === undefined) {
      streams.refuse(streamId, errorCode.protocolError);
    } else {
      const room = Math.min(streams.room, this.#peer.initialWindow);
      streams.sendWindow -= answerRefusal(streams.output, streamId, refusal, id, room);
      streams.answeredUnopened(streamId, endStream);
    }
    this.#faults.count("resets");
  }

  #trailers(stream: Http2Stream, endStream: boolean): void {
    if (stream.remoteEnded) {
      return this.#faults.streamError(stream, errorCode.streamClosed, "HEADERS behind the end");
    }
    // A built table never contains Host, because `:authority` replaces it.
    const hasHost = head.hostField() !== undefined;
    const isValid = endStream && !head.hasPseudo && !hasHost && head.fault === "" && !head.tooLarge;
    const fields = isValid ? head.build("") : undefined;
    if (fields !== undefined && admitTrailers(fields) && stream.receiveEnd(fields)) return;
    this.#faults.streamError(stream, errorCode.protocolError, head.fault || "invalid trailers");
  }
}
