import type { Transform } from "node:stream";
import { makeContained } from "../../lib/boundary.ts";
import type { ResponseHead } from "../../traffic/exchange.ts";
import { streamOf, WholeBody } from "../../traffic/body-stage.ts";
import type { BodyStage } from "../../traffic/body-stage.ts";
import { isBodiless } from "../../http1/bodiless.ts";
import type { FieldTable } from "../../http1/field-table.ts";

/** Receives transformed bytes. */
export interface StagesOutput {
  /** Returns false if the caller must wait for `resume`. */
  sendBody(bytes: Buffer): boolean;
  stagedEnd(): void;
  stagedFailed(error: Error): void;
  /** Called when there is room to `write` again after a `false`. */
  stagesDrained(): void;
}

/** The body for modules that read it whole. */
export type ResponseBody = Pick<ResponseHead, "body" | "replaceBody" | "trailers">;

/** Buffers the body for such modules. Created on demand, because most modules only read the head. */
export interface ResponseBodyKeeper {
  /** Undefined until a module requests the body or bytes have to wait. */
  readonly keptBody: ResponseBody | undefined;
  /** Buffers the body from now on. */
  keepBody(): ResponseBody;
}

const noStreams: readonly Transform[] = [];

/** The response head for modules, with the transforms that they add to its body. */
export class ModuleResponse implements ResponseHead {
  status: number;
  readonly headers: FieldTable;
  readonly #upstreamStatus: number;
  readonly #keeper: ResponseBodyKeeper;
  #stages: BodyStage[] | undefined;
  #streams: readonly Transform[] = noStreams;
  /** Used instead of streams if the only stage reads the whole body. */
  #whole: WholeBody | undefined;
  #output: StagesOutput | undefined;

  constructor(status: number, headers: FieldTable, keeper: ResponseBodyKeeper) {
    this.status = status;
    this.#upstreamStatus = status;
    this.headers = headers;
    this.#keeper = keeper;
  }

  get trailers(): ResponseHead["trailers"] {
    return this.#keeper.keptBody?.trailers;
  }

  body(maxBytes: number): Promise<Buffer> {
    return this.#keeper.keepBody().body(maxBytes);
  }

  replaceBody(bytes: Buffer): void {
    this.#keeper.keepBody().replaceBody(bytes);
    this.headers.set("content-length", String(bytes.length));
  }

  transform(stage: BodyStage): void {
    if (this.#stages === undefined) this.#stages = [stage];
    else this.#stages.push(stage);
  }

  /** Throws if a module has set a status with which the response cannot be sent. */
  check(): void {
    const { status } = this;
    if (!(status >= 200 && status <= 599)) throw new Error(`change the status: ${status} is not a final status`);
    if (isBodiless(status) !== isBodiless(this.#upstreamStatus)) {
      throw new Error(`change the status: of ${status} and ${this.#upstreamStatus} only one has a body`);
    }
  }

  /** Whether the body passes through the stages. */
  get isStarted(): boolean {
    return this.#output !== undefined;
  }

  /** Whether a module has added a stage. */
  get isTransformed(): boolean {
    return this.#stages !== undefined;
  }

  /** Builds and connects the stages. The last one added is nearest to the client. */
  start(output: StagesOutput): void {
    this.#output = output;
    const stages = this.#stages ?? [];
    const [first] = stages;
    if (stages.length === 1 && typeof first === "object") {
      this.#whole = new WholeBody(first);
      return;
    }
    const streams = stages.map(streamOf);
    this.#streams = streams;
    const listener = <Given extends readonly unknown[]>(run: (...given: Given) => void): ((...given: Given) => void) =>
      makeContained("exchange", run, (error) => this.#failed(error));
    for (const [index, stream] of streams.entries()) {
      stream.on(
        "error",
        listener((error: Error) => output.stagedFailed(error)),
      );
      const next = streams[index + 1];
      if (next !== undefined) stream.pipe(next);
    }
    const drained = (): void => output.stagesDrained();
    streams[0]?.on("drain", listener(drained));
    const last = streams.at(-1);
    const send = (bytes: Buffer): void => {
      if (!output.sendBody(bytes)) last?.pause();
    };
    last?.on("data", listener(send));
    const ended = (): void => output.stagedEnd();
    last?.on("end", listener(ended));
  }

  write(bytes: Buffer): boolean {
    const whole = this.#whole;
    if (whole === undefined) return this.#streams[0]?.write(bytes) ?? true;
    try {
      whole.write(bytes);
    } catch (error) {
      this.#failed(error);
    }
    return true;
  }

  end(): void {
    const whole = this.#whole;
    const output = this.#output;
    if (whole === undefined || output === undefined) {
      this.#streams[0]?.end();
      return;
    }
    this.#whole = undefined;
    let bytes: Buffer;
    try {
      bytes = whole.end();
    } catch (error) {
      this.#failed(error);
      return;
    }
    output.sendBody(bytes);
    output.stagedEnd();
  }

  resume(): void {
    this.#streams.at(-1)?.resume();
  }

  destroy(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#streams = noStreams;
    this.#whole = undefined;
    this.#output = undefined;
  }

  #failed(error: unknown): void {
    this.#whole = undefined;
    this.#output?.stagedFailed(error instanceof Error ? error : new Error(String(error)));
  }
}
