/** A request at an address of a route with SAML, on the login host. */
import type { Exchange } from "../../traffic/exchange.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext, LoginSite } from "../guard/context.ts";
import type { Guard } from "../guard/guard.ts";
import type { UsedMessages } from "../saml/used-messages.ts";
import type { ClaimMessage } from "../saml/response/work.ts";
import type { SamlMethod } from "./saml-method.ts";

/** Where a route stands: its edge, and what it has of paths and hosts to itself. */
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
  /** What this edge has taken. */
  readonly used: UsedMessages;
}

const maxFormBytes = 512 * 1024;

/** The body of a form, not decoded. Rejects with `LoginRefusal` for any other, and `Refusal` for what is too long. */
export async function formOf(exchange: Exchange, reason: LoginRefusal["reason"]): Promise<string> {
  const type = exchange.request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new LoginRefusal(reason, "the body is not a form");
  }
  return (await exchange.body(maxFormBytes)).toString("latin1");
}

/**
 * Takes each message once, at whichever edge it comes in. Without the control plane each edge takes once what a request
 * of ours has asked for, so that logins go on, and nothing else.
 */
export function claimFor({ method, guard, context, used }: AddressedRoute): ClaimMessage {
  return async ({ messageId, untilMs, unsolicited }) => {
    const name = `${method.route.routeId} ${messageId}`;
    const here = used.claim(name, untilMs, context.clock.now());
    if (here !== "first") return here;
    const claim = unsolicited ? "claim" : "claimHere";
    return await context.reports[claim](guard.options.accountId, `saml ${name}`, untilMs);
  };
}
