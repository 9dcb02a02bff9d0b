import { runContained } from "../../lib/boundary.ts";
import { Refusal } from "../../lib/errors.ts";
import { isBodiless } from "../../http1/bodiless.ts";
import { emptyFields } from "../../http1/field-table.ts";
import type { ResponseHead } from "../../traffic/exchange.ts";
import type { DescribedVisitor } from "../../traffic/visitor.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { CompiledRoute } from "../../routing/sites/compiled-site.ts";
import type { ClientConnection } from "../http/visitor-connection.ts";
import { DecidedExchange } from "../http/decided-exchange.ts";
import type { ResponseHook } from "../http/decided-exchange.ts";
import { stripResponse } from "../http/forwarded-fields.ts";
import type { ForwardedBefore } from "../http/forwarded-fields.ts";
import type { ReceivedRequest } from "../http/received-request.ts";
import { ModuleResponse } from "../http/response-stages.ts";
import type { ResponseBody } from "../http/response-stages.ts";
import type { Picked } from "../upstreams/pick.ts";
import type { RequestUpstreams } from "../upstreams/request-upstreams.ts";

export interface RehearsedRequest {
  readonly request: ReceivedRequest;
  readonly body: Buffer;
  /** The user to treat as logged in. */
  readonly as?: DescribedVisitor | undefined;
  /** The described response of the upstream. */
  readonly response: { readonly status: number; readonly headers: HeaderPairs; readonly body: Buffer } | undefined;
}

/**
 * A described request. The same code decides as for a real request, but has no side effects. Its context must keep no
 * trace of it.
 */
export class Rehearsal extends DecidedExchange {
  readonly #described: RehearsedRequest;
  #body: Buffer;
  readonly #upstreams: Pick<RequestUpstreams, "foresee">;
  readonly #settled = Promise.withResolvers<void>();
  #response: ModuleResponse | undefined;
  /** Answer with which it ends at the edge. Undefined if it goes upstream. */
  ending: Answer | undefined;
  /** The chosen upstream. */
  picked: Picked | undefined;
  /** The lines of the edge that the upstream would receive. */
  forwarded = "";

  constructor(client: ClientConnection, described: RehearsedRequest, upstreams: Pick<RequestUpstreams, "foresee">) {
    super(client, described.request);
    this.#described = described;
    this.bodyArrival = this.arrival;
    this.#body = described.body;
    this.#upstreams = upstreams;
  }

  /** Resolves when everything is decided. */
  async run(): Promise<void> {
    this.decide();
    await this.#settled.promise;
  }

  override get id(): string {
    return "explain";
  }

  get rehearsedAs(): DescribedVisitor | undefined {
    return this.#described.as;
  }

  get response(): ResponseHead | undefined {
    return this.answered ?? this.#response;
  }

  body(maxBytes: number): Promise<Buffer> {
    return limitBody(this.#body, maxBytes);
  }

  /** Sets the length, as for a real request. */
  replaceBody(bytes: Buffer): void {
    this.#body = bytes;
    this.request.headers.set("content-length", String(bytes.length));
  }

  protected ask(hook: Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">) {
    return hook.rehearse ? hook.rehearse(this) : hook.request(this);
  }

  protected askResponse(hook: ResponseHook) {
    return hook.rehearseResponse ? hook.rehearseResponse(this) : hook.response(this);
  }

  protected drop(answer: Answer): void {
    this.answer(answer);
  }

  protected forward(route: CompiledRoute, plan: UpstreamPlan, before: ForwardedBefore): void {
    this.#foresee(plan)
      .then((answer) => {
        if (answer === undefined) return this.#passOn(route, before);
        if ("error" in answer) this.refuse(answer.error, "no other backend can serve the request");
        else this.answer(answer);
      })
      .catch((error: unknown) => this.broke(error));
  }

  answer(answer: Answer): void {
    this.ending = answer;
    this.#end();
  }

  broke(error: unknown): void {
    runContained("exchange", () => this.moduleFailed(error));
    // Has no effect if the failure has become the ending.
    this.#settled.reject(error);
  }

  /** A rehearsal closes no route. */
  override hookFailed(): void {}

  /** Chooses the plan's upstream. Returns an answer if there is none or the plan has a fixed one. */
  async #foresee(plan: UpstreamPlan): Promise<Answer | undefined> {
    const picked = await this.#upstreams.foresee(plan, this.steps as Step[], this.mcpSession);
    this.picked = picked;
    return "session" in picked || "host" in picked ? undefined : picked;
  }

  async #passOn(route: CompiledRoute, before: ForwardedBefore): Promise<void> {
    this.forwarded = this.shared.forwarded(this.request, before);
    const { response } = this.#described;
    if (response !== undefined) {
      const fields = emptyFields();
      for (const [name, value] of response.headers) fields.append(name, value);
      stripResponse(fields);
      let body = response.body;
      const keptBody: ResponseBody = {
        body: (maxBytes) => limitBody(body, maxBytes),
        replaceBody: (bytes) => void (body = bytes),
      };
      this.#response = new ModuleResponse(response.status, fields, { keptBody, keepBody: () => keptBody });
      if (!(await this.respond(route, this.#response))) return;
      await this.#throughStages(this.#response, body);
    }
    this.#end();
  }

  /** Also runs the rules on the body. */
  async #throughStages(response: ModuleResponse, body: Buffer): Promise<void> {
    if (!response.isTransformed) return;
    response.headers.delete("content-length");
    if (body.length === 0 || this.request.method === "HEAD" || isBodiless(response.status)) return;
    await new Promise<void>((resolve) => {
      response.start({ sendBody: () => true, stagedEnd: resolve, stagedFailed: () => resolve(), stagesDrained() {} });
      response.write(body);
      response.end();
    });
    response.destroy();
  }

  #end(): void {
    this.conclude();
    this.#settled.resolve();
  }
}

function limitBody(body: Buffer, maxBytes: number): Promise<Buffer> {
  return body.length > maxBytes ? Promise.reject(new Refusal("payload_too_large")) : Promise.resolve(body);
}
