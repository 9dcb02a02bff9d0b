/** A request to a SAML route's address on the login host. */
import type { Exchange } from "../../traffic/exchange.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import type { Guard } from "../guard/login-guard.ts";
import type { UsedMessages } from "../saml/used-messages.ts";
import type { ClaimMessage } from "../saml/response/work.ts";
import type { SamlMethod } from "./saml-method.ts";

/** Location of a route: its edge, host and path. */
export interface RoutePlace {
  readonly site: LoginSite;
  /** "" for any host of the edge. */
  readonly host: string;
  readonly path: string;
  readonly isPrefix: boolean;
}

export interface AddressedRoute {
  readonly exchange: Exchange;
  readonly context: LoginContext;
  readonly place: RoutePlace;
  readonly guard: Guard;
  readonly method: SamlMethod;
  /** Messages that this edge has accepted. */
  readonly used: UsedMessages;
}

const maxFormBytes = 512 * 1024;

/**
 * Returns a form body without decoding it. Rejects with `LoginRefusal` for other bodies, and with `Refusal` for bodies
 * that are too long.
 */
export async function formOf(exchange: Exchange, reason: LoginRefusal["reason"]): Promise<string> {
  const type = exchange.request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new LoginRefusal(reason, "the body is not a form");
  }
  return (await exchange.body(maxFormBytes)).toString("latin1");
}

/**
 * Accepts each message once over all edges. Without the control plane, each edge accepts only responses to its own
 * requests once, so that logins continue.
 */
export function claimFor({ method, guard, context, used }: AddressedRoute): ClaimMessage {
  return async ({ messageId, untilMs, unsolicited }) => {
    const name = `${method.route.routeId} ${messageId}`;
    const isFirstUse = used.claim(name, untilMs, context.clock.now());
    if (isFirstUse !== "first") return isFirstUse;
    const claim = unsolicited ? "claim" : "claimHere";
    return await context.reports[claim](guard.options.accountId, `saml ${name}`, untilMs);
  };
}
