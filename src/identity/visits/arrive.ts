/** Finishes a login that started at the provider: the browser has no flow, but a ticket that is valid once. */
import type { Exchange } from "../../traffic/exchange.ts";
import type { Step } from "../../traffic/step.ts";
import { readParameters } from "../browser/parameters.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { runEarlierModules, establishSession, finishLogin, refuseLogin, routeOf } from "./finish.ts";
import { Guard } from "../guard/login-guard.ts";
import type { Arrival } from "../methods/method.ts";

const ticketMs = 5 * 60_000;

/** Finishes a login of either kind. */
export async function finishReturn(site: LoginSite, exchange: Exchange, context: LoginContext): Promise<Step> {
  const parameters = new URLSearchParams(exchange.request.query);
  if (parameters.has("state") || !parameters.has("ticket")) return await finishLogin(site, exchange, context);
  let guard: Guard | undefined;
  try {
    const found = await arrivalAt(site, exchange);
    ({ guard } = found);
    const { arrival, route } = found;
    await claimArrival(arrival, guard, context);
    const refused = await runEarlierModules(route, guard, exchange, arrival.returnPath);
    if (refused) return refused;
    const flow = { id: arrival.id, returnPath: arrival.returnPath, tries: 0 };
    return await establishSession(guard, flow, arrival, exchange, context);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    return refuseLogin(error, { site, guard, exchange, context });
  }
}

async function arrivalAt(site: LoginSite, exchange: Exchange) {
  const { query, host } = exchange.request;
  const parameters = readParameters(query);
  for (const guard of site.logins ?? []) {
    if (!(guard instanceof Guard)) continue;
    const arrival = await guard.options.method.arrive?.(parameters, host);
    if (!arrival) continue;
    const route = routeOf(site, guard, arrival.returnPath, host);
    if (route) return { guard, route, arrival };
    throw new LoginRefusal("login_elsewhere", "the address now belongs to another route");
  }
  throw new LoginRefusal("login_state_unreadable", "the ticket of the host is missing, or older than a minute");
}

/** Once on this edge, and once over all edges. */
async function claimArrival(
  { id }: Arrival,
  { options }: Guard,
  { used, reports, clock }: LoginContext,
): Promise<void> {
  const key = `ticket ${options.realm.tag} ${id}`;
  const isNew = used.get(key) === undefined;
  used.set(key, true);
  const outcome = isNew ? await reports.claim(options.accountId, key, clock.now() + ticketMs) : "used";
  if (outcome === "used") throw new LoginRefusal("login_used", "the ticket was already used");
  if (outcome === "unknown") {
    throw new LoginRefusal("login_unchecked", "it is unknown whether the ticket was already used");
  }
}
