/** A response made at the edge, as response hooks see and change it. */
import { Refusal } from "../lib/errors.ts";
import type { BodyStage } from "./body-stage.ts";
import type { ResponseHead } from "./exchange.ts";
import type { HeaderFields } from "./header-fields.ts";
import { HeaderList } from "./header-list.ts";
import { throughStages } from "./staged-body.ts";
import type { FixedAnswer } from "./step.ts";

export class OwnResponse implements ResponseHead {
  status: number;
  readonly headers: HeaderFields;
  #body: string | Uint8Array;
  readonly #stages: BodyStage[] = [];

  constructor({ status, headers, body }: FixedAnswer) {
    this.status = status;
    this.headers = new HeaderList();
    for (const [name, value] of Object.entries(headers)) {
      for (const one of [value].flat()) this.headers.append(name, one);
    }
    this.#body = body;
  }

  body(maxBytes: number): Promise<Buffer> {
    const body = Buffer.from(this.#body as string);
    return body.length > maxBytes ? Promise.reject(new Refusal("payload_too_large")) : Promise.resolve(body);
  }

  replaceBody(bytes: Buffer): void {
    this.#body = bytes;
  }

  transform(stage: BodyStage): void {
    this.#stages.push(stage);
  }

  /** The response after the hooks. Rejects if one of their body changes fails. */
  answer(): FixedAnswer | Promise<FixedAnswer> {
    const body = this.#body;
    if (this.#stages.length === 0) return this.#with(body);
    return throughStages(Buffer.from(body as string), this.#stages).then((bytes) => this.#with(bytes));
  }

  #with(body: string | Uint8Array): FixedAnswer {
    const headers: Record<string, string[]> = {};
    for (const [name, value] of this.headers.entries()) (headers[name] ??= []).push(value);
    return { status: this.status, headers, body };
  }
}
