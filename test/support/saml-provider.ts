/**
 * A SAML identity provider for visitors of a running platform. It reads the requests that it receives, and answers
 * them.
 */
import assert from "node:assert/strict";
import { createPublicKey, createSign, createVerify } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { KeyedCertificate, KeyType } from "../../src/lib/certificates/x509.ts";
import type { Browser, Visited } from "./browser.ts";
import {
  algorithms,
  derOf,
  formBody,
  makeProviderKeys,
  metadataXml,
  persistent,
  responseXml,
  signXml,
} from "./saml-idp.ts";
import type { MetadataOptions, Said } from "./saml-idp.ts";
import type { SignedPart } from "./saml-login.ts";
import { SignedXml, findDom, parseDom } from "./xml-crypto.ts";

export interface SamlRouteUrls {
  readonly entity_id: string;
  readonly assertion_consumer_service_url: string;
  readonly single_logout_url: string;
  readonly request_signing_certificate_pem: string;
}

/** A request received by the provider, with a verified signature. */
export interface Asked {
  readonly xml: string;
  readonly id: string;
  readonly relayState: string | undefined;
}

export interface SamlProvider {
  readonly entityId: string;
  readonly keys: KeyedCertificate;
  metadata(options?: Partial<MetadataOptions>): string;
  /** Reads the request that the visitor brings: a redirect, or a page with a form. */
  read(sent: Visited, route: SamlRouteUrls): Asked;
  /** Returns the form with which the visitor comes back. If `asked` is undefined, the login starts at the provider. */
  answer(asked: Asked | undefined, route: SamlRouteUrls, options?: AnswerOptions): string;
  /** Logs in from a page of a route, by way of the provider, and back to the page. */
  signIn(browser: Browser, url: string, route: SamlRouteUrls, options?: AnswerOptions): Promise<Visited>;
  /** Encodes a LogoutRequest or LogoutResponse as a query. */
  redirectTo(url: string, field: "SAMLRequest" | "SAMLResponse", xml: string, relayState?: string): string;
  sign(xml: string, local: string): string;
}

export interface AnswerOptions {
  readonly said?: Partial<Said>;
  readonly parts?: readonly SignedPart[];
  readonly relayState?: string;
  readonly keys?: KeyedCertificate;
  /** Type of the provider's keys. */
  readonly keyType?: KeyType;
  readonly now?: number;
}

export interface SamlProviderOptions {
  readonly entityId?: string;
  readonly keyType?: KeyType;
  /** Default: the provider's own keys. */
  readonly keys?: KeyedCertificate;
  readonly now?: () => number;
}

let messages = 0;

export async function makeSamlProvider(options: SamlProviderOptions = {}): Promise<SamlProvider> {
  const { entityId = "https://id.example/saml", keyType = "rsa", now = Date.now } = options;
  const keys = options.keys ?? (await makeProviderKeys(keyType));
  const provider: SamlProvider = {
    entityId,
    keys,
    metadata: (given = {}) =>
      metadataXml({
        certificates: [derOf(keys.certificatePem)],
        entityId,
        redirect: "https://id.example/sso",
        logout: "https://id.example/slo",
        ...given,
      }),
    read: (sent, route) => {
      const asked = sent.status === 302 || sent.status === 303 ? fromQuery(sent, route) : fromForm(sent, route);
      const id = parseDom(asked.xml).getAttribute("ID") ?? "";
      return { ...asked, id };
    },
    answer: (
      asked,
      route,
      {
        said = {},
        parts = ["Assertion"],
        relayState,
        keys: other = keys,
        keyType: type = keyType,
        now: at = now(),
      } = {},
    ) => {
      messages += 1;
      const xml = responseXml({
        responseId: `_r${messages}`,
        assertionId: `_a${messages}-${Math.random().toString(36).slice(2)}`,
        responseVersion: "2.0",
        assertionVersion: "2.0",
        responseIssued: at,
        assertionIssued: at,
        destination: route.assertion_consumer_service_url,
        responseIssuer: entityId,
        assertionIssuer: entityId,
        responseInResponseTo: asked?.id,
        inResponseTo: asked?.id,
        status: "urn:oasis:names:tc:SAML:2.0:status:Success",
        nameId: "ada",
        format: persistent,
        spNameQualifier: undefined,
        method: "urn:oasis:names:tc:SAML:2.0:cm:bearer",
        recipient: route.assertion_consumer_service_url,
        confirmedNotBefore: undefined,
        confirmedUntil: at + 300_000,
        notBefore: at - 60_000,
        notOnOrAfter: at + 300_000,
        audience: route.entity_id,
        authnInstant: at,
        sessionNotOnOrAfter: undefined,
        sessionIndex: `session-${messages}`,
        attributes: { email: ["ada@example.com"], displayName: ["Ada Löwe"], groups: ["staff", "admins"] },
        ...said,
      });
      const signed = parts.reduce((one, part) => signXml(one, part, signingBy(other, type)), xml);
      return formBody("SAMLResponse", signed, relayState ?? asked?.relayState);
    },
    async signIn(browser, url, route, given) {
      const sent = await browser.visit(url, { stop: (next) => next.startsWith("https://id.example/") });
      const body = provider.answer(provider.read(sent, route), route, given);
      return await browser.visit(route.assertion_consumer_service_url, { method: "POST", body });
    },
    redirectTo(url, field, xml, relayState) {
      let query = `${field}=${encodeURIComponent(deflateRawSync(xml).toString("base64"))}`;
      if (relayState !== undefined) query += `&RelayState=${encodeURIComponent(relayState)}`;
      query += `&SigAlg=${encodeURIComponent(algorithms.rsaSha256)}`;
      const signature = createSign("sha256").update(query).sign(keys.keyPem, "base64");
      return `${url}?${query}&Signature=${encodeURIComponent(signature)}`;
    },
    sign: (xml, local) => signXml(xml, local, signingBy(keys)),
  };
  return provider;

  function signingBy(by: KeyedCertificate, type = keyType) {
    return { key: by.keyPem, ...(type === "ec" && { algorithm: algorithms.ecdsaSha256 }) };
  }
}

/** saml-bindings §3.4.4.1. */
function fromQuery({ headers }: Visited, route: SamlRouteUrls): Omit<Asked, "id"> {
  const url = new URL(String(headers.location));
  const query = url.search.slice(1);
  const field = url.searchParams.has("SAMLRequest") ? "SAMLRequest" : "SAMLResponse";
  const [octets = "", signature = ""] = query.slice(query.indexOf(`${field}=`)).split("&Signature=");
  const key = createPublicKey(route.request_signing_certificate_pem);
  assert.ok(createVerify("sha256").update(octets).verify(key, decodeURIComponent(signature), "base64"));
  const relayState = url.searchParams.get("RelayState") ?? undefined;
  const xml = inflateRawSync(Buffer.from(url.searchParams.get(field) ?? "", "base64")).toString();
  return { xml, relayState };
}

function fromForm({ text }: Visited, route: SamlRouteUrls): Omit<Asked, "id"> {
  const value = (name: string): string | undefined => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1];
  const encoded = value("SAMLRequest") ?? value("SAMLResponse");
  assert.ok(encoded, text);
  const xml = Buffer.from(encoded, "base64").toString();
  const signed = new SignedXml({ publicCert: route.request_signing_certificate_pem });
  signed.loadSignature(findDom(xml, "Signature"));
  assert.ok(signed.checkSignature(xml));
  return { xml, relayState: value("RelayState") };
}
