import { Transform } from "node:stream";
import type { TransformCallback } from "node:stream";
import { GatheredBytes } from "../lib/gathered-bytes.ts";

/** One transformation of a response body on its way to the client: a stream, or a single step for the whole body. */
export type BodyStage = (() => Transform) | WholeStage;

/** For small bodies of known length, where a stream per body would cost more than the transformation. */
export interface WholeStage {
  /** Maximum size of the body, bytes. A longer body fails. */
  readonly maxBytes: number;
  readonly change: (body: Buffer) => Buffer;
}

/** Converts a stage to a stream, which is needed beside other stages. */
export function streamOf(stage: BodyStage): Transform {
  return typeof stage === "function" ? stage() : new WholeStream(stage);
}

/** Collects a body for a whole-body stage. */
export class WholeBody {
  readonly #stage: WholeStage;
  readonly #bytes = new GatheredBytes();

  constructor(stage: WholeStage) {
    this.#stage = stage;
  }

  /** Throws if there are more bytes than announced. */
  write(chunk: Buffer): void {
    this.#bytes.add(chunk);
    // The edge enforces the upstream's Content-Length. This check limits the damage of a bug there.
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
