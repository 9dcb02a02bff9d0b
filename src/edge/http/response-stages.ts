import type { Transform } from "node:stream";
import type { ResponseHead } from "../../traffic/exchange.ts";
import { isBodiless } from "../../http1/bodiless.ts";
import type { FieldTable } from "../../http1/field-table.ts";

/** Where transformed bytes go. */
export interface StagesOutput {
  /** False: hold on until `resume`. */
  sendBody(bytes: Buffer): boolean;
  stagedEnd(): void;
  stagedFailed(error: Error): void;
  /** Room to `write` again after a `false`. */
  stagesDrained(): void;
}

/** The body, as the modules that want to see it whole are given it. */
export type ResponseBody = Pick<ResponseHead, "body" | "replaceBody" | "trailers">;

/** The response head as modules see it, and the transforms that they put on its body. */
export class ModuleResponse implements ResponseHead {
  status: number;
  readonly headers: FieldTable;
  readonly #upstreamStatus: number;
  readonly #body: ResponseBody;
  #makers: (() => Transform)[] = [];
  #stages: Transform[] = [];

  constructor(status: number, headers: FieldTable, body: ResponseBody) {
    this.status = status;
    this.#upstreamStatus = status;
    this.headers = headers;
    this.#body = body;
  }

  get trailers(): ResponseHead["trailers"] {
    return this.#body.trailers;
  }

  body(maxBytes: number): Promise<Buffer> {
    return this.#body.body(maxBytes);
  }

  replaceBody(bytes: Buffer): void {
    this.#body.replaceBody(bytes);
    this.headers.set("content-length", String(bytes.length));
  }

  transform(make: () => Transform): void {
    this.#makers.push(make);
  }

  /** Throws when a module has set a status that the response cannot be sent with. */
  check(): void {
    const { status } = this;
    if (!(status >= 200 && status <= 599)) throw new Error(`change the status: ${status} is not a final status`);
    if (isBodiless(status) !== isBodiless(this.#upstreamStatus)) {
      throw new Error(`change the status: of ${status} and ${this.#upstreamStatus} only one has a body`);
    }
  }

  /** The body goes through the stages. */
  get isStarted(): boolean {
    return this.#stages.length > 0;
  }

  /** A module wants a stage. */
  get isTransformed(): boolean {
    return this.#makers.length > 0;
  }

  /** Builds the stages and connects them, the one added last nearest to the client. */
  start(output: StagesOutput): void {
    const stages = this.#makers.map((make) => make());
    this.#stages = stages;
    for (const [index, stage] of stages.entries()) {
      stage.on("error", (error: Error) => output.stagedFailed(error));
      const next = stages[index + 1];
      if (next !== undefined) stage.pipe(next);
    }
    stages[0]?.on("drain", () => output.stagesDrained());
    const last = stages.at(-1);
    last?.on("data", (bytes: Buffer) => {
      if (!output.sendBody(bytes)) last.pause();
    });
    last?.on("end", () => output.stagedEnd());
  }

  write(bytes: Buffer): boolean {
    return this.#stages[0]?.write(bytes) ?? true;
  }

  end(): void {
    this.#stages[0]?.end();
  }

  resume(): void {
    this.#stages.at(-1)?.resume();
  }

  destroy(): void {
    for (const stage of this.#stages) stage.destroy();
    this.#stages = [];
  }
}
