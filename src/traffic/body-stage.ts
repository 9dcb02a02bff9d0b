import { Transform } from "node:stream";
import type { TransformCallback } from "node:stream";
import { GatheredBytes } from "../lib/gathered-bytes.ts";

/** What a response body goes through on its way to the client: a stream that is made for it, or one step of the whole. */
export type BodyStage = (() => Transform) | WholeStage;

/** For bodies whose length is known and small: a stream for each would cost more than what is done to them. */
export interface WholeStage {
  /** A body that turns out to be longer, in bytes, fails. */
  readonly maxBytes: number;
  readonly change: (body: Buffer) => Buffer;
}

/** The stage as a stream, as it is when there are others beside it. */
export function streamOf(stage: BodyStage): Transform {
  return typeof stage === "function" ? stage() : new WholeStream(stage);
}

/** A body that is being collected for a stage. */
export class WholeBody {
  readonly #stage: WholeStage;
  readonly #bytes = new GatheredBytes();

  constructor(stage: WholeStage) {
    this.#stage = stage;
  }

  /** Throws when there are more bytes than announced. */
  write(chunk: Buffer): void {
    this.#bytes.add(chunk);
    // The edge holds upstreams to their Content-Length; this only bounds what a fault in that could cost.
    if (this.#bytes.length > this.#stage.maxBytes) throw new Error("change a body: it is longer than announced");
  }

  end(): Buffer {
    return this.#stage.change(this.#bytes.join());
  }
}

class WholeStream extends Transform {
  readonly #body: WholeBody;

  constructor(stage: WholeStage) {
    super();
    this.#body = new WholeBody(stage);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    try {
      this.#body.write(chunk);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    try {
      done(null, this.#body.end());
    } catch (error) {
      done(error as Error);
    }
  }
}
