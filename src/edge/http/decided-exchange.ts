import { runUnattended } from "../../lib/boundary.ts";
import { workOn } from "../../lib/heartbeat.ts";
import { hostOfName } from "../../lib/plain-names.ts";
import { Refusal } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange, RequestHead, ResponseHead } from "../../traffic/exchange.ts";
import type { HeaderPairs } from "../../traffic/header-list.ts";
import { cutAccessToken, cutLoginCookies } from "../../traffic/login.ts";
import type { CompiledModule } from "../../traffic/module.ts";
import { OwnResponse } from "../../traffic/own-response.ts";
import type { Answer, FixedAnswer, Step } from "../../traffic/step.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { CompiledRoute, Site } from "../../routing/sites/compiled-site.ts";
import {
  moduleFailed,
  noBackend,
  refuseByRouter,
  refuseTooManyHops,
  refuseUnroutable,
} from "../../routing/sites/router-refusals.ts";
import { encodingRefused } from "./encoded-request.ts";
import { ExchangeRecord } from "./exchange-record.ts";
import { nothingBefore, stripRequest } from "./forwarded-fields.ts";
import type { ForwardedBefore } from "./forwarded-fields.ts";
import { matchRoute } from "./match-route.ts";
import type { ModuleResponse } from "./response-stages.ts";

const none: HeaderPairs = [];
const noHooks: readonly ResponseHook[] = [];

/**
 * A request and every decision about it, in this order: site and source, head, the edge's own paths, route, request
 * hooks, upstream, response hooks. Real requests (`HttpExchange`) and described requests (`Rehearsal`) share all
 * decisions. They differ only in how the decisions are carried out.
 */
export abstract class DecidedExchange extends ExchangeRecord implements Exchange {
  /** Number of internal endpoints that the request was forwarded to. */
  #hops = 0;
  /** Response hooks of the endpoints that forwarded the request, the last one first. */
  #callers: readonly ResponseHook[] = noHooks;
  /** Response of an internal endpoint, while its callers' hooks process it. */
  protected answered: OwnResponse | undefined;
  abstract get response(): ResponseHead | undefined;
  abstract body(maxBytes: number): Promise<Buffer>;
  abstract replaceBody(bytes: Buffer): void;
  /** Runs a request hook. A rehearsal returns what a hook with side effects would do. */
  protected abstract ask(hook: RequestHook): Step | Promise<Step>;
  /** Runs a response hook, in the same way as `ask`. */
  protected abstract askResponse(hook: ResponseHook): Step | Promise<Step>;
  /** Sends the request to the plan's upstream. */
  protected abstract forward(route: CompiledRoute, plan: UpstreamPlan, before: ForwardedBefore): void;
  /** Ends the exchange. */
  abstract answer(answer: Answer): void;

  /**
   * Ends the exchange and its connection without sending a byte.
   * @param answer shown for the request by a dry run
   */
  protected abstract drop(answer: Answer): void;

  protected decide(): void {
    if (this.isOver) return;
    const step = matchRoute(this);
    if (step !== undefined) {
      this.#deny(step);
      return;
    }
    this.captureEarlyBody();
    const { headers } = this.request;
    const before = stripRequest(headers, this.shared.trusted);
    for (const [name, value] of this.shared.ownFields ?? none) headers.append(name, value);
    if (this.hasLogins) {
      this.loginCookies = cutLoginCookies(headers);
      this.accessToken = cutAccessToken(headers);
    }
    const { owned, route } = this;
    if (owned !== undefined) this.#run([owned], 0, undefined, before);
    else if (route !== undefined) this.#run(route.request as readonly RequestHook[], 0, route, before);
  }

  /** Continues at a request hook of a route, as if the hooks before it had let the request pass. */
  protected resume(site: Site, route: CompiledRoute, index: number): void {
    if (this.isOver) return;
    this.site = site;
    this.wholeSite = site;
    this.route = route;
    this.steps.push(route.matched);
    this.#run(route.request as readonly RequestHook[], index, route, nothingBefore);
  }

  /** Records the running hooks for the watchdog, which later refuses a route that blocks the thread. */
  #run(hooks: readonly RequestHook[], index: number, route: CompiledRoute | undefined, before: ForwardedBefore): void {
    workOn(route === undefined ? 0 : route.mark);
    this.#runHooks(hooks, index, route, before);
    workOn(0);
  }

  /**
   * Runs the request hooks from `index` on, then sends the request. A hook that throws ends the request (security R6).
   */
  #runHooks(
    hooks: readonly RequestHook[],
    index: number,
    route: CompiledRoute | undefined,
    before: ForwardedBefore,
  ): void {
    for (let at = index; at < hooks.length; at += 1) {
      let step: Step | Promise<Step>;
      try {
        step = this.ask(hooks[at] as RequestHook);
      } catch (error) {
        return this.moduleFailed(error);
      }
      if (step instanceof Promise) {
        step
          .then((decided) => {
            if (this.isOver || !this.#decided(decided)) return;
            if (decided.forwardTo === undefined || route === undefined) this.#run(hooks, at + 1, route, before);
            else this.#forwardTo(decided.forwardTo, route, before);
          })
          .catch((error: unknown) => this.broke(error));
        return;
      }
      if (!this.#decided(step)) return;
      if (step.forwardTo !== undefined && route !== undefined) return this.#forwardTo(step.forwardTo, route, before);
    }
    if (route?.upstream === undefined) this.#deny(route?.ending ?? noBackend);
    else {
      if (route.response.some(({ readsResponseBody }) => readsResponseBody === true)) askForPlainBody(this.request);
      this.forward(route, route.upstream, before);
    }
  }

  /** Whether any route of the site at this host has a login. */
  protected get hasLogins(): boolean {
    const logins = this.wholeSite?.logins;
    return logins !== undefined && logins.length > 0;
  }

  /**
   * Continues with an internal endpoint of the account instead of the rest of the route. The endpoint's own modules
   * decide. Its response passes the endpoint's modules, then the route's.
   */
  #forwardTo(name: string, route: CompiledRoute, before: ForwardedBefore): void {
    const site = this.site && this.shared.context.internalSite?.(this.site.accountId, name);
    if (site === undefined) return this.refuse("unknown_host", `no internal endpoint is at "${name}"`);
    const host = hostOfName(name);
    this.#hops += 1;
    const loop = refuseTooManyHops(this.#hops, host);
    if (loop !== undefined) return this.#deny(loop);
    const target = site.problem === undefined ? site.findRoute(this.request.path, host) : undefined;
    if (target === undefined || target.problem !== undefined) {
      const { path } = this.request;
      return this.#deny(refuseUnroutable(site, target, path) ?? noBackend);
    }
    const { request, shared } = this;
    const unclear = request.isEncoded ? encodingRefused(request, host, site, target, shared.context) : undefined;
    if (unclear !== undefined) return this.#deny(unclear);
    // Visitors return from a provider to a public name, where this login's cookies and paths are unknown.
    if (site.logins !== undefined && site.logins.length > 0) {
      return this.refuse("login_internal", `endpoint ${site.id} at "${host}" requires a login`);
    }
    this.steps.push(target.matched);
    const joined: CompiledRoute = {
      ...target,
      id: route.id,
      revision: route.revision,
      matched: route.matched,
      response: [...target.response, ...route.response],
      settled: [...target.settled, ...route.settled],
    };
    this.route = joined;
    this.#callers = route.response as readonly ResponseHook[];
    this.#run(target.request as readonly RequestHook[], 0, joined, before);
  }

  /** Applies the step of a request hook. Returns false if it ends the request phase. */
  #decided(step: Step): boolean {
    const { answer } = step;
    if (answer === undefined || this.#callers.length === 0) return this.#take(step);
    // Response rules do not change a refusal, as within a single policy.
    if ("error" in answer || step.outcome !== "answered" || step.drops === true) return this.#take(step);
    runUnattended("exchange", this.#answerCallers(step, answer), (error) => this.broke(error));
    return false;
  }

  /** Passes the answer of an internal endpoint to its callers' response hooks, like an upstream's response. */
  async #answerCallers(step: Step, fixed: FixedAnswer): Promise<void> {
    const hooks = this.#callers;
    this.#callers = noHooks;
    try {
      const response = new OwnResponse(fixed);
      this.answered = response;
      for (const hook of hooks) {
        workOn(this.route?.mark ?? 0);
        const asked = this.askResponse(hook);
        workOn(0);
        const decided = await asked;
        if (this.isOver || !this.#decided(decided)) return;
      }
      const answer = await response.answer();
      if (!this.isOver) this.#take({ ...step, answer });
    } catch (error) {
      workOn(0);
      this.moduleFailed(error);
    }
  }

  /** Runs the response hooks from `index` on. Returns false if one of them ended the exchange. */
  protected respond(route: CompiledRoute, response: ModuleResponse, index = 0): boolean | Promise<boolean> {
    workOn(route.mark);
    const goesOn = this.#respond(route, response, index);
    workOn(0);
    return goesOn;
  }

  #respond(route: CompiledRoute, response: ModuleResponse, index: number): boolean | Promise<boolean> {
    const hooks = route.response as readonly ResponseHook[];
    for (let at = index; at < hooks.length; at += 1) {
      try {
        const step = this.askResponse(hooks[at] as ResponseHook);
        if (step instanceof Promise) {
          return step
            .then(
              (decided) => !this.isOver && this.#responded(decided, response) && this.respond(route, response, at + 1),
            )
            .catch((error: unknown) => {
              this.broke(error);
              return false;
            });
        }
        if (!this.#responded(step, response)) return false;
      } catch (error) {
        this.moduleFailed(error);
        return false;
      }
    }
    return true;
  }

  #responded(step: Step, response: ModuleResponse): boolean {
    if (!this.#take(step)) return false;
    try {
      response.check();
    } catch (error) {
      this.moduleFailed(error);
      return false;
    }
    return true;
  }

  /** Ends the exchange, unless it is over, because a module has thrown. */
  moduleFailed(error: unknown): void {
    if (this.isOver) return;
    if (error instanceof Refusal) return this.refuse(error.reason, error.message);
    this.hookFailed(error);
    this.#deny(moduleFailed(error));
  }

  /**
   * Ends the exchange.
   * @param why one clause, for operators
   * @param detail one clause, for the client
   */
  refuse(reason: RefusalName, why: string, detail?: string): void {
    const step = refuseByRouter(reason, why);
    this.#deny(detail === undefined ? step : { ...step, answer: { error: reason, detail } });
  }

  /** Ends the exchange in any state, because code that processed it threw. Never throws. */
  abstract broke(error: unknown): void;

  #record(step: Step): void {
    if (this.shared.context.tracing !== undefined) this.#noteEnd(step);
    this.steps.push(step);
  }

  /** Notes when a step ended that did something or took time. */
  #noteEnd({ outcome }: Step): void {
    const { monotonic } = this.shared.context.moments.present;
    if (outcome === "passed" && monotonic === this.arrival.monotonic) return;
    (this.stepEnds ??= [])[this.steps.length] = monotonic;
  }

  /** Records a step. Returns false if it ended the exchange. */
  #take(step: Step): boolean {
    this.#record(step);
    if (step.answer === undefined) return true;
    if (step.drops === true) this.drop(step.answer);
    else this.answer(step.answer);
    return false;
  }

  /** Ends the exchange by a step of the router. */
  #deny(step: Step): void {
    this.#record(step);
    this.answer(step.answer as Answer);
  }
}

/** Requests a body that response rules can read, regardless of the encodings that the client accepts (control D11). */
function askForPlainBody(request: RequestHead): void {
  const { headers } = request;
  request.acceptedCodings ??= headers.getAll("accept-encoding");
  headers.set("accept-encoding", "identity");
  for (const name of partialFields) headers.delete(name);
}

/** Fields with which a client requests less than the whole body (RFC 9110 §14.2, RFC 3229). */
const partialFields = ["range", "if-range", "a-im"] as const;

type RequestHook = Required<Pick<CompiledModule, "request">> & Pick<CompiledModule, "rehearse">;
export type ResponseHook = Required<Pick<CompiledModule, "response">> & Pick<CompiledModule, "rehearseResponse">;
