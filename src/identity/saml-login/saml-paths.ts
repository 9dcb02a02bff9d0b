/** What a route with SAML has on the host of logins: its metadata, and where the provider's answers come in. */
import { canonicalPath } from "../../lib/canonical-path.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { Exchange } from "../../traffic/exchange.ts";
import { answered } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { LoginRefusal } from "../calls/identity.ts";
import type { LoginContext, LoginSite } from "../context.ts";
import { guardOf } from "../finish.ts";
import { sealState } from "../flow.ts";
import type { Guard } from "../guard.ts";
import { notAllowed } from "../host-paths.ts";
import type { IdpPath } from "../idp-site.ts";
import { redirect, refusalAnswer } from "../pages.ts";
import { wantsPage } from "../request-kind.ts";
import type { ResponseHost } from "../saml/response/work.ts";
import type { UsedMessages } from "../saml/used-messages.ts";
import { originOf } from "../settings.ts";
import { turnedAway } from "../step.ts";
import { hostOfCode } from "./host-code.ts";
import { SamlMethod } from "./saml-method.ts";

/** Where a route stands: its edge, and what it has of paths and hosts to itself. */
export interface RoutePlace {
  readonly site: LoginSite;
  /** "" for any host of the edge. */
  readonly host: string;
  readonly path: string;
  readonly isPrefix: boolean;
}

export interface SamlPathNeeds {
  placeOf(routeId: string): RoutePlace | undefined;
  readonly used: UsedMessages;
}

interface Found {
  readonly exchange: Exchange;
  readonly context: LoginContext;
  readonly place: RoutePlace;
  readonly guard: Guard;
  readonly method: SamlMethod;
}

const by = "saml";
const maxFormBytes = 512 * 1024;
const metadataHeaders = { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" };

export function samlPaths({ placeOf, used }: SamlPathNeeds): IdpPath {
  const find = (exchange: Exchange, context: LoginContext, routeId: string): Found | RefusalName => {
    if (!/^[\w-]{1,64}$/.test(routeId)) return "saml_id_malformed";
    const place = placeOf(routeId);
    if (!place) return "saml_route_unknown";
    const guard = guardOf(place.site, ({ options }) => options.ownerId === routeId && options.method.kind === by);
    if (!guard || !(guard.options.method instanceof SamlMethod)) return "saml_module_absent";
    return { exchange, context, place, guard, method: guard.options.method };
  };
  const atAcs = async (found: Found): Promise<Step> => {
    const { exchange, context, place, guard, method } = found;
    const form = await formOf(exchange);
    const accepted = await method.accept(form, homeOf(found), hostFor(found, used));
    const { origin } = accepted;
    if (origin.by === "provider") throw new LoginRefusal("saml_unsolicited", "not taken yet");
    const host = hostOfCode(origin.host, place.site.hosts);
    if (host === undefined) throw new LoginRefusal("login_elsewhere", "the edge has not the host any more");
    const { sealer, settings } = context;
    const state = { id: origin.flowId, host, realm: guard.options.realm.tag, startedAt: origin.sentMs };
    const url = new URL("/.postern/callback", originOf(host, settings.httpsPort()));
    url.searchParams.set("state", sealState(state, sealer));
    url.searchParams.set("ticket", accepted.ticket(origin.flowId, ""));
    return answered(by, `${method.title} says ${accepted.subject}: on to ${host}`, redirect(303, url.href));
  };
  return (exchange, context) => {
    const { path, method } = exchange.request;
    const [, routeId, part] = /^\/saml\/([^/]*)(?:\/(acs))?$/.exec(path) ?? [];
    if (routeId === undefined) return undefined;
    const found = find(exchange, context, routeId);
    if (typeof found === "string") return refusal(exchange, found, `no login by SAML at ${path}`);
    exchange.ownerAccount = found.guard.options.accountId;
    if (part === undefined) return method === "GET" || method === "HEAD" ? guarded(metadata, found) : notAllowed("GET");
    return method === "POST" ? guarded(atAcs, found) : notAllowed("POST");
  };
}

async function guarded(work: (found: Found) => Promise<Step>, found: Found): Promise<Step> {
  try {
    return await work(found);
  } catch (error) {
    if (!(error instanceof LoginRefusal)) throw error;
    const { exchange, context, method } = found;
    context.log.info("login refused", { request: exchange.id, reason: error.reason, detail: error.message });
    return refusal(exchange, error.reason, error.message, method.title);
  }
}

function refusal(exchange: Exchange, reason: RefusalName, why: string, provider?: string): Step {
  const shown = { requestId: exchange.id, asPage: wantsPage(exchange.request), ...(provider && { provider }) };
  return turnedAway(by, why, refusalAnswer(reason, shown));
}

/** saml-metadata §4.1.1; the tag is of the bytes (RFC 9110 §8.8.3). */
async function metadata({ exchange, method }: Found): Promise<Step> {
  const { body, contentType, etag } = await method.document();
  const headers = { ...metadataHeaders, etag };
  const known = exchange.request.headers.get("if-none-match") ?? "";
  if (known.split(",").some((one) => one.trim().replace(/^W\//, "") === etag || one.trim() === "*")) {
    return answered(by, "the route's metadata, which the client has", { status: 304, headers, body: "" });
  }
  return answered(by, "the route's metadata", {
    status: 200,
    headers: { ...headers, "content-type": contentType },
    body,
  });
}

async function formOf(exchange: Exchange): Promise<string> {
  const type = exchange.request.headers.get("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new LoginRefusal("saml_assertion", "form: the body is not a form");
  }
  return (await exchange.body(maxFormBytes)).toString("latin1");
}

function hostFor({ place, method, context }: Found, used: UsedMessages): ResponseHost {
  const { routeId } = method.route;
  return {
    leadsHere: async (url) => leadsTo(url, routeId, place.site, context),
    claim: async ({ messageId, untilMs }) => used.claim(`${routeId} ${messageId}`, untilMs, context.clock.now()),
  };
}

function leadsTo(text: string, routeId: string, site: LoginSite, { siteFor, settings }: LoginContext): boolean {
  const { hostname, port, pathname } = new URL(text);
  const path = canonicalPath(pathname);
  const isPort = Number(port || 443) === settings.httpsPort() || site.advertises(hostname, Number(port || 443));
  return isPort && path !== undefined && siteFor(hostname) === site && site.findRoute(path, hostname)?.id === routeId;
}

/** The one address of a route that has all below a path of a single host. */
function homeOf({ place, context }: Found): string | undefined {
  const { site, host, path, isPrefix } = place;
  const [only, another] = host === "" ? site.hosts : [host];
  if (!isPrefix || only === undefined || another !== undefined || only.startsWith("*.")) return undefined;
  return originOf(only, context.settings.httpsPort()) + path;
}
