/** Paths of a SAML route on the login host: its metadata, and the addresses for the provider's messages. */
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext } from "../guard/login-context.ts";
import type { LoginMethod } from "../methods/method.ts";
import { makeRefusedLogin } from "../sessions/login-events.ts";
import { guardOf } from "../visits/finish.ts";
import { notAllowed } from "../visits/host-paths.ts";
import type { IdpPath } from "../visits/idp-site.ts";
import { refusalAnswer } from "../browser/login-pages.ts";
import { wantsPage } from "../browser/request-kind.ts";
import type { UsedMessages } from "../saml/used-messages.ts";
import { turnAway } from "../browser/turn-away.ts";
import type { AddressedRoute, RoutePlace } from "./addressed-route.ts";
import { placeOfName } from "./own-name.ts";
import { consumerService } from "./consumer-service.ts";
import { logoutService } from "./logout-service.ts";
import { SamlMethod, UnknownKeyRefusal } from "./saml-method.ts";

export interface SamlPathNeeds {
  placeOf(routeId: string): RoutePlace | undefined;
  readonly used: UsedMessages;
}

interface PathService {
  readonly methods: readonly string[];
  answer(at: AddressedRoute): Promise<Step>;
}

const by = "saml";

const services: Readonly<Record<string, PathService>> = {
  "": { methods: ["GET", "HEAD"], answer: serveMetadata },
  "/acs": { methods: ["POST"], answer: consumerService },
  "/slo": { methods: ["GET", "POST"], answer: logoutService },
};

export function samlPaths({ placeOf, used }: SamlPathNeeds): IdpPath {
  const find = (exchange: Exchange, context: LoginContext, name: string): AddressedRoute | RefusalName => {
    const named = placeOfName(name);
    if (!named) return "saml_id_malformed";
    const place = "id" in named ? placeOf(named.id) : findWholeHost(named.host, context);
    if (!place) return "saml_route_unknown";
    const guard = guardOf(place.site, ({ options: { method } }) => isMethodOf(method, name));
    if (!guard || !(guard.options.method instanceof SamlMethod)) return "saml_module_absent";
    return { exchange, context, place, guard, method: guard.options.method, used };
  };
  return (exchange, context) => {
    const { path, method } = exchange.request;
    const [, name, part = ""] = /^\/saml\/([^/]*)(\/acs|\/slo)?$/.exec(path) ?? [];
    if (name === undefined) return undefined;
    const found = find(exchange, context, name);
    if (typeof found === "string") return refuseRequest(exchange, found, `no SAML login at ${path}`);
    exchange.ownerAccount = found.guard.options.accountId;
    const { methods, answer } = services[part] as PathService;
    if (!methods.includes(method)) return notAllowed(methods.join(", "));
    return orRefused(answer, found, () => find(exchange, context, name));
  };
}

/** An agent's endpoint owns its whole host, or shares the whole of it. */
function findWholeHost(host: string, { siteFor }: LoginContext): RoutePlace | undefined {
  const site = siteFor(host);
  return site && { site, host, path: "/", isPrefix: true };
}

function isMethodOf(method: LoginMethod, name: string): method is SamlMethod {
  return method instanceof SamlMethod && method.route.routeId === name;
}

/** @param again looks the route up again, because its metadata may have changed */
async function orRefused(
  answer: PathService["answer"],
  at: AddressedRoute,
  again: () => AddressedRoute | RefusalName,
): Promise<Step> {
  try {
    return await answer(at);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    const { method, guard } = at;
    if (error instanceof UnknownKeyRefusal && (await method.renewMetadata(guard.options.accountId))) {
      const renewed = again();
      if (typeof renewed !== "string") return await orRefused(answer, renewed, () => "saml_module_absent");
    }
    return refuseAt(at, error);
  }
}

function refuseAt({ exchange, context, method, guard }: AddressedRoute, error: LoginRefusal): Step {
  const { reason: errorName, message: reason } = error;
  const { accountId } = guard.options;
  context.log.info("SAML message rejected", { request: exchange.id, reason: errorName, detail: reason });
  context.tell("login_refused.v0", accountId, () => makeRefusedLogin({ exchange, errorName, reason, place: guard }));
  return refuseRequest(exchange, errorName, reason, method.title);
}

function refuseRequest(exchange: Exchange, reason: RefusalName, why: string, provider?: string): Step {
  const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), ...(provider && { provider }) };
  return turnAway(by, why, refusalAnswer(reason, shown));
}

/** saml-metadata §4.1.1. The entity tag is computed from the bytes (RFC 9110 §8.8.3). */
async function serveMetadata({ exchange, method }: AddressedRoute): Promise<Step> {
  const { body, contentType, etag } = await method.document();
  const headers = { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff", etag };
  const known = (exchange.request.headers.get("if-none-match") ?? "").split(",").map((one) => one.trim());
  if (known.some((one) => one === "*" || one.replace(/^W\//, "") === etag)) {
    return answerStep(by, "the route's metadata, which the client already has", { status: 304, headers, body: "" });
  }
  const whole = { ...headers, "content-type": contentType };
  return answerStep(by, "the route's metadata", { status: 200, headers: whole, body });
}
