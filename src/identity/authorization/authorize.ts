/** The authorization endpoint (OAuth 2.1 §4.1.1, RFC 8707): verifies the client's request, then sends the person to log in. */
import type { Exchange } from "../../traffic/exchange.ts";
import { answerStep } from "../../traffic/step.ts";
import type { Step } from "../../traffic/step.ts";
import { takeRandomBytes } from "../../lib/random-bytes.ts";
import type { LoginContext } from "../guard/login-context.ts";
import type { Guard } from "../guard/login-guard.ts";
import { setCookie } from "../browser/cookies.ts";
import { answerRedirect } from "../browser/login-pages.ts";
import { originOf } from "../browser/login-settings.ts";
import { authorizationMs, requestCookie, sealLink, sealRequest } from "../machines/sealed.ts";
import { issuerOf } from "../machines/issuer.ts";
import { machineLoginAt } from "../visits/resource-metadata.ts";
import { readParameters } from "../browser/parameters.ts";
import { redirectToClient, answerRefusalPage } from "./authorization-answers.ts";
import { codeRequestIn, maxState } from "./protocol.ts";

/** The place that the client wants a token for. */
export interface Resource {
  readonly guard: Guard;
  /** As the client wrote it. */
  readonly text: string;
  readonly host: string;
  readonly path: string;
}

export async function authorizeClient(accountId: string, exchange: Exchange, context: LoginContext): Promise<Step> {
  const { settings, clock, sealer, reports } = context;
  const parameters = readParameters(exchange.request.query);
  const one = (name: string): string => parameters.get(name) ?? "";
  const resource = resourceOf(one("resource"), accountId, context);
  if (typeof resource === "string") return answerRefusalPage(exchange, "client_refused", resource);
  const { guard, host, path } = resource;
  const { machines, realm } = guard.options;
  if (machines === undefined) return answerRefusalPage(exchange, "client_refused", "the route admits browsers only");
  const [clientId, redirectUri] = [one("client_id"), one("redirect_uri")];
  const verdict = await reports.authorization(accountId, {
    name: "client",
    clientId,
    redirectUri,
    registration: [...machines.registration],
    clientIds: [...machines.clientIds],
    redirectUris: [...machines.redirectUris],
  });
  if (verdict === undefined) return answerRefusalPage(exchange, "login_unchecked", "the control plane does not answer");
  if (verdict.name === "refused") return answerRefusalPage(exchange, "client_refused", verdict.description);
  if (verdict.name !== "client")
    return answerRefusalPage(exchange, "client_refused", "the client could not be verified");
  const state = parameters.get("state");
  const failed = (error: string, error_description: string): Step =>
    redirectToClient(
      redirectUri,
      { error, error_description, state, iss: issuerOf(settings, accountId) },
      `${error}: ${error_description}`,
    );
  if (state !== undefined && state.length > maxState) {
    return answerRefusalPage(exchange, "client_refused", `the state is longer than ${maxState} characters`);
  }
  const asked = codeRequestIn(parameters, machines.scopes);
  if ("error" in asked) return failed(asked.error, asked.description);
  if (!sealer.isReady) return failed("temporarily_unavailable", "try again in a moment");
  const id = takeRandomBytes(16).toString("base64url");
  const sealed = sealRequest(
    {
      id,
      accountId,
      clientKey: verdict.key,
      clientTitle: verdict.title,
      redirectUri,
      state,
      ...asked,
      resource: resource.text,
      host,
      path,
      realm: realm.tag,
    },
    clock.now(),
    sealer,
  );
  if (sealed === undefined) return failed("invalid_request", "state, redirect_uri and resource are too long together");
  const url = new URL("/.postern/authorize", originOf(host, settings.httpsPort()));
  const link = { authorization: id, host, path, realm: realm.tag };
  url.searchParams.set("request", sealLink(link, clock.now(), sealer));
  const cookie = setCookie(requestCookie(id), sealed, authorizationMs / 1000);
  return answerStep("authorization server", `on to ${host} to log in`, answerRedirect(303, url.href, [cookie]));
}

/** Returns the route that a resource belongs to, or why there is none. */
export function resourceOf(text: string, accountId: string, { siteFor, settings }: LoginContext): Resource | string {
  if (text === "") return "the request has no resource: it must name the address that the token is for (RFC 8707)";
  const url = text.length <= 1024 ? URL.parse(text) : null;
  const port = settings.httpsPort();
  const isOurs = url?.protocol === "https:" && Number(url.port === "" ? 443 : url.port) === port;
  if (!url || !isOurs || url.hash !== "" || url.search !== "" || url.username !== "" || url.password !== "") {
    return "the resource is not an address of this server";
  }
  const host = url.hostname;
  const site = siteFor(host);
  const found = site && site.accountId === accountId ? machineLoginAt(site, host, url.pathname) : undefined;
  if (!found || found.guard.options.accountId !== accountId) {
    return "no route at the resource gives tokens to clients";
  }
  return { guard: found.guard, text: url.href, host, path: url.pathname };
}
