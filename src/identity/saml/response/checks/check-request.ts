import { makeSamlRefusal } from "../../saml-refusal.ts";
import type { CheckFailure, Work } from "../work.ts";

/** Time limit for a login, milliseconds. */
const maxFlowMs = 15 * 60 * 1000;

/**
 * 11: the response answers our request, or there was none, the route accepts such logins, and the destination belongs
 * to the route.
 */
export async function checkRequest(work: Work): Promise<CheckFailure> {
  const { inResponseTo, relay } = work;
  if (inResponseTo === undefined) return checkUnsolicited(work);
  const { nowMs, skewMs } = work.input;
  if (!relay) return makeSamlRefusal("saml_relay_state", "RelayState was not sent for this route");
  if (relay.sentMs > nowMs + skewMs)
    return makeSamlRefusal("saml_relay_state", "the time in RelayState is in the future");
  if (nowMs - relay.sentMs > maxFlowMs) {
    return makeSamlRefusal("saml_late", `the login started ${Math.round((nowMs - relay.sentMs) / 60_000)} minutes ago`);
  }
  const requested = relay.hostBy(inResponseTo);
  if (requested === undefined) return "the Response is for another request than RelayState";
  work.origin = { by: "request", flowId: relay.flowId, host: requested, sentMs: relay.sentMs };
  return undefined;
}

async function checkUnsolicited(work: Work): Promise<CheckFailure> {
  const { relayState, input, host } = work;
  if (!input.allowIdpInitiated) return makeSamlRefusal("saml_unsolicited", "the login started at the provider");
  if (work.relay) return "the Response names no request, but RelayState belongs to one";
  if (relayState === undefined) {
    if (input.home === undefined)
      return makeSamlRefusal("saml_relay_url", "the login started at the provider without RelayState");
    work.origin = { by: "provider", url: input.home };
    return undefined;
  }
  const url = httpsUrl(relayState);
  if (url === undefined) return makeSamlRefusal("saml_relay_url", "RelayState is not an https URL");
  if (!(await host.leadsHere(url)))
    return makeSamlRefusal("saml_relay_route", "RelayState does not lead to this route");
  work.origin = { by: "provider", url };
  return undefined;
}

/** Returns the normalized form, which is both checked and followed. */
function httpsUrl(text: string): string | undefined {
  const url = /^https:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (!url || url.protocol !== "https:" || url.username !== "" || url.password !== "") return undefined;
  return url.href;
}
