import { refused } from "../../refusal.ts";
import type { Verdict, Work } from "../work.ts";

/** Time limit for a login, milliseconds. */
const maxFlowMs = 15 * 60 * 1000;

/**
 * 11: the response answers our request, or there was none, the route accepts such logins, and the destination belongs
 * to the route.
 */
export async function checkRequest(work: Work): Promise<Verdict> {
  const { inResponseTo, relay } = work;
  if (inResponseTo === undefined) return unsolicited(work);
  const { nowMs, skewMs } = work.input;
  if (!relay) return refused("saml_relay_state", "RelayState was not sent for this route");
  if (relay.sentMs > nowMs + skewMs) return refused("saml_relay_state", "the time in RelayState is in the future");
  if (nowMs - relay.sentMs > maxFlowMs) {
    return refused("saml_late", `the login started ${Math.round((nowMs - relay.sentMs) / 60_000)} minutes ago`);
  }
  const requested = relay.hostBy(inResponseTo);
  if (requested === undefined) return "the Response is for another request than RelayState";
  work.origin = { by: "request", flowId: relay.flowId, host: requested, sentMs: relay.sentMs };
  return undefined;
}

async function unsolicited(work: Work): Promise<Verdict> {
  const { relayState, input, host } = work;
  if (!input.allowIdpInitiated) return refused("saml_unsolicited", "the login started at the provider");
  if (work.relay) return "the Response names no request, but RelayState belongs to one";
  if (relayState === undefined) {
    if (input.home === undefined)
      return refused("saml_relay_url", "the login started at the provider without RelayState");
    work.origin = { by: "provider", url: input.home };
    return undefined;
  }
  const url = httpsUrl(relayState);
  if (url === undefined) return refused("saml_relay_url", "RelayState is not an https URL");
  if (!(await host.leadsHere(url))) return refused("saml_relay_route", "RelayState does not lead to this route");
  work.origin = { by: "provider", url };
  return undefined;
}

/** Returns the normalized form, which is both checked and followed. */
function httpsUrl(text: string): string | undefined {
  const url = /^https:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (!url || url.protocol !== "https:" || url.username !== "" || url.password !== "") return undefined;
  return url.href;
}
