import { Transform } from "node:stream";
import type { TransformCallback } from "node:stream";

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

const noBytes = Buffer.alloc(0);

/** A body that is being collected for a stage. */
export class WholeBody {
  readonly #stage: WholeStage;
  /** Mostly it comes in one. */
  #first: Buffer | undefined;
  #others: Buffer[] | undefined;
  #bytes = 0;

  constructor(stage: WholeStage) {
    this.#stage = stage;
  }

  /** Throws when there are more bytes than announced. */
  write(chunk: Buffer): void {
    this.#bytes += chunk.length;
    // The edge holds upstreams to their Content-Length; this only bounds what a fault in that could cost.
    if (this.#bytes > this.#stage.maxBytes) throw new Error("change a body: it is longer than announced");
    if (this.#first === undefined) this.#first = chunk;
    else (this.#others ??= []).push(chunk);
  }

  end(): Buffer {
    const first = this.#first ?? noBytes;
    return this.#stage.change(this.#others === undefined ? first : Buffer.concat([first, ...this.#others]));
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
