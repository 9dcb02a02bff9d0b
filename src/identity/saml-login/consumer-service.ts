/** The Assertion Consumer Service: receives the provider's response and redirects the browser to the visited host. */
import { randomBytes } from "node:crypto";
import { canonicalPath } from "../../lib/canonical-path.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext, LoginSite } from "../guard/login-context.ts";
import { routeOf } from "../visits/finish.ts";
import { sealState } from "../browser/flow.ts";
import type { Guard } from "../guard/login-guard.ts";
import { answerRedirect } from "../browser/login-pages.ts";
import { originOf } from "../browser/login-settings.ts";
import { claimFor, formOf } from "./addressed-route.ts";
import type { AddressedRoute } from "./addressed-route.ts";
import { hostOfCode } from "./host-code.ts";

export async function consumerService(at: AddressedRoute): Promise<Step> {
  const { exchange, context, place, guard, method } = at;
  const { sealer, settings } = context;
  const form = await formOf(exchange, "saml_assertion");
  const accepted = await method.accept(form, homeOf(at), {
    leadsHere: async (url) => leadsTo(url, guard, place.site, context),
    claim: claimFor(at),
  });
  await context.gate.enter();
  const { origin } = accepted;
  const host = origin.by === "provider" ? new URL(origin.url).hostname : hostOfCode(origin.host, place.site.hosts);
  if (host === undefined) throw new LoginRefusal("login_elsewhere", "the edge no longer has the host");
  const url = new URL("/.postern/callback", originOf(host, settings.httpsPort()));
  if (origin.by === "provider") {
    url.searchParams.set("ticket", accepted.ticket(randomBytes(16).toString("base64url"), origin.url));
  } else {
    const state = { id: origin.flowId, host, realm: guard.options.realm.tag, startedAt: origin.sentMs };
    url.searchParams.set("state", sealState(state, sealer));
    url.searchParams.set("ticket", accepted.ticket(origin.flowId, ""));
  }
  return answerStep(
    method.kind,
    `${method.title} returned ${accepted.subject}: continue at ${host}`,
    answerRedirect(303, url.href),
  );
}

/** A URL in normalized form, with a host and port of the edge and a path of the route. */
function leadsTo(text: string, guard: Guard, site: LoginSite, { siteFor, settings }: LoginContext): boolean {
  const { hostname, port, pathname } = new URL(text);
  const path = canonicalPath(pathname);
  const given = Number(port || 443);
  const isPort = given === settings.httpsPort() || site.advertises(hostname, given);
  const whole = siteFor(hostname);
  const isOfSite = whole === site || whole?.members?.includes(site) === true;
  return isPort && path !== undefined && isOfSite && routeOf(site, guard, path, hostname) !== undefined;
}

/** The only address of a route that matches a path prefix on a single host. */
function homeOf({ place, context }: AddressedRoute): string | undefined {
  const { site, host, path, isPrefix } = place;
  const [only, another] = host === "" ? site.hosts : [host];
  if (!isPrefix || only === undefined || another !== undefined || only.startsWith("*.")) return undefined;
  return originOf(only, context.settings.httpsPort()) + path;
}
