import type { Answer } from "../../traffic/step.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import type { UpstreamPlan } from "../../traffic/upstream-plan.ts";
import type { UpstreamPool } from "./upstream-pool.ts";

/**
 * Carries out upstream plans. Whoever keeps the register of tunnels implements it, with one `UpstreamPool` for
 * each tunnel (and each static address), made with the tunnel and closed with it.
 */
export interface Upstreams {
  /**
   * Chooses where a request goes now: a pool that is not in `tried`, or the answer that ends the exchange
   * (`backend_empty`, `tunnel_gone`, a fixed response). Called once per request, and again with what was tried
   * when a stream could not be opened, before anything was sent. What decided is for it to push to
   * `exchange.steps`; steps that only depend on the tunnel are made once per tunnel.
   * `pool.outstanding` is there for a choice by load.
   * @param raw the upstream is not spoken to in HTTP: the pool's streams are for `UpstreamConnection.raw`
   */
  choose(plan: UpstreamPlan, exchange: Exchange, tried: readonly UpstreamPool[], raw?: boolean): UpstreamPool | Answer;
}
