import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange, ResponseHead } from "../../traffic/exchange.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import type { Answer, Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { CompiledRoute } from "../../routing/sites/compiled.ts";
import { moduleFailed, noBackend, refused } from "../../routing/sites/refusals.ts";
import { ExchangeRecord } from "./exchange-record.ts";
import { stripRequest } from "./forwarding.ts";
import type { ForwardedBefore } from "./forwarding.ts";
import { matchRoute } from "./match-route.ts";
import type { ModuleResponse } from "./response-stages.ts";

/**
 * A request on its way through everything that decides over it, in this order: site and source, head, paths of the
 * edge's own, route, request hooks, upstream; and once there is a response, its hooks. Real requests (`HttpExchange`)
 * and described ones (`Rehearsal`) differ in what carries the decisions out, and in nothing that is decided.
 */
export abstract class DecidedExchange extends ExchangeRecord implements Exchange {
  abstract get response(): ResponseHead | undefined;
  abstract body(maxBytes: number): Promise<Buffer>;
  abstract replaceBody(bytes: Buffer): void;
  /** Asks a request hook; one with side effects is asked what it would do where nothing is carried out. */
  protected abstract ask(hook: RequestHook): Step | Promise<Step>;
  /** The request goes where the plan leads. */
  protected abstract forward(route: CompiledRoute, plan: UpstreamPlan, before: ForwardedBefore): void;
  /** Ends the exchange. */
  abstract answer(answer: Answer): void;

  protected decide(): void {
    if (this.isOver) return;
    const step = matchRoute(this);
    if (step !== undefined) {
      this.#deny(step);
      return;
    }
    const before = stripRequest(this.request.headers, this.shared.trusted);
    const { owned, route } = this;
    if (owned !== undefined) this.#run([owned], 0, undefined, before);
    else if (route !== undefined) this.#run(route.request as readonly RequestHook[], 0, route, before);
  }

  /** Runs the request hooks from `index` on, then sends the request. A hook that throws ends it (security R6). */
  #run(hooks: readonly RequestHook[], index: number, route: CompiledRoute | undefined, before: ForwardedBefore): void {
    for (let at = index; at < hooks.length; at += 1) {
      let step: Step | Promise<Step>;
      try {
        step = this.ask(hooks[at] as RequestHook);
      } catch (error) {
        return this.moduleFailed(error);
      }
      if (step instanceof Promise) {
        step.then(
          (decided) => {
            if (!this.isOver && this.#take(decided)) this.#run(hooks, at + 1, route, before);
          },
          (error: unknown) => this.moduleFailed(error),
        );
        return;
      }
      if (!this.#take(step)) return;
    }
    if (route?.upstream === undefined) this.#deny(noBackend);
    else this.forward(route, route.upstream, before);
  }

  /** Runs the response hooks; false when one of them ended the exchange. */
  protected respond(route: CompiledRoute, response: ModuleResponse): boolean {
    for (const hook of route.response as readonly ResponseHook[]) {
      try {
        if (!this.#take(hook.response(this))) return false;
        response.check();
      } catch (error) {
        this.moduleFailed(error);
        return false;
      }
    }
    return true;
  }

  /** Ends the exchange, unless it is over: a module has thrown. */
  moduleFailed(error: unknown): void {
    if (this.isOver) return;
    if (error instanceof Refusal) return this.refuse(error.reason, error.message);
    this.hookFailed(error);
    this.#deny(moduleFailed(error));
  }

  /** Ends the exchange. @param why one clause, for operators */
  refuse(reason: RefusalName, why: string): void {
    this.#deny(refused(reason, why));
  }

  /** Records a step; false when it ended the exchange. */
  #take(step: Step): boolean {
    this.steps.push(step);
    if (step.answer === undefined) return true;
    this.answer(step.answer);
    return false;
  }

  /** Ends the exchange by a step of the router. */
  #deny(step: Step): void {
    this.steps.push(step);
    this.answer(step.answer as Answer);
  }
}

type RequestHook = Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">;
type ResponseHook = Required<Pick<CompiledModule, "response">>;
