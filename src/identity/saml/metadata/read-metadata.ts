import type { SamlRefusal } from "../saml-refusal.ts";
import { makeSamlRefusal } from "../saml-refusal.ts";
import { readBase64 } from "../base64.ts";
import { readDuration, readInstant } from "../instant.ts";
import { bindings, ds, md, samlp } from "../xml-names.ts";
import { keyIssue } from "../signature/xml-algorithms.ts";
import { readCertificate } from "../signature/signature-keys.ts";
import { attributeOf, walkElements, isNamed, textIn, XmlIssue } from "../xml/element.ts";
import type { XmlElement } from "../xml/element.ts";
import { readXml } from "../xml/read-xml.ts";
import type { BindingName, IdpMetadata, LogoutService } from "./idp-metadata.ts";

/** Like the limits of responses, but documents of federations are longer and may contain comments. */
const limits = {
  maxLength: 1_048_576,
  maxDepth: 32,
  maxElements: 20_000,
  maxAttributes: 64,
  skipComments: true,
} as const;
const maxCertificates = 16;
const maxUrlLength = 2048;
/** saml-core §8.3.6. */
const maxEntityId = 1024;

type ReadElement = { readonly metadata: IdpMetadata } | { readonly refused: SamlRefusal };

/**
 * Reads the metadata of one identity provider, alone or the only one among others (saml-metadata §2.3). Returns the
 * refusal `saml_metadata` for unreadable documents, several providers or none, an end in the past, no certificate with
 * an accepted key, no login address, and addresses without TLS.
 */
export function readIdpMetadata(text: string, nowMs: number): ReadElement {
  try {
    const metadata = readEntity(readXml(text.replace(/^\uFEFF/, ""), limits));
    if (metadata.validUntilMs !== undefined && metadata.validUntilMs <= nowMs) {
      throw new XmlIssue(`its validUntil has passed: ${new Date(metadata.validUntilMs).toISOString()}`);
    }
    const warnings = [...metadata.warnings, ...certificateDates(metadata.certificates, nowMs)];
    return { metadata: { ...metadata, warnings } };
  } catch (error) {
    if (error instanceof XmlIssue)
      return { refused: makeSamlRefusal("saml_metadata", `the metadata: ${error.message}`) };
    throw error;
  }
}

function readEntity(root: XmlElement): IdpMetadata {
  const providers = [...walkElements(root)].filter(isProvider);
  const [provider, another] = providers;
  if (!provider) throw new XmlIssue("it describes no identity provider of SAML 2.0");
  if (another) throw new XmlIssue("it describes more than one identity provider");
  const entity = provider.parent;
  if (!entity || !isNamed(entity, md, "EntityDescriptor"))
    throw new XmlIssue("its identity provider does not belong to an entity");
  const entityId = attributeOf(entity, "entityID") ?? "";
  if (entityId === "" || entityId.length > maxEntityId) throw new XmlIssue("its entityID is missing or too long");
  const warnings: string[] = [];
  const signOn = signOnOf(provider);
  if (!signOn.redirect && !signOn.post) throw new XmlIssue("it has no SingleSignOnService by redirect or POST");
  return {
    entityId,
    signOn,
    signOut: signOutOf(provider),
    certificates: certificatesOf(provider, warnings),
    ...lifetimeOf(provider),
    warnings,
  };
}

function isProvider(element: XmlElement): boolean {
  if (!isNamed(element, md, "IDPSSODescriptor")) return false;
  return (attributeOf(element, "protocolSupportEnumeration") ?? "").split(/\s+/).includes(samlp);
}

function childrenOf(element: XmlElement, namespace: string, local: string): XmlElement[] {
  return element.children.filter((one): one is XmlElement => typeof one !== "string" && isNamed(one, namespace, local));
}

function signOnOf(provider: XmlElement): IdpMetadata["signOn"] {
  const found: Partial<Record<BindingName, string>> = {};
  for (const service of childrenOf(provider, md, "SingleSignOnService")) {
    const binding = bindingOf(service);
    if (binding) found[binding] ??= addressIn(service, "Location");
  }
  return found;
}

function signOutOf(provider: XmlElement): IdpMetadata["signOut"] {
  const found: Partial<Record<BindingName, LogoutService>> = {};
  for (const service of childrenOf(provider, md, "SingleLogoutService")) {
    const binding = bindingOf(service);
    if (!binding || found[binding]) continue;
    const location = addressIn(service, "Location");
    const elsewhere = attributeOf(service, "ResponseLocation") !== undefined;
    found[binding] = { location, responseLocation: elsewhere ? addressIn(service, "ResponseLocation") : location };
  }
  return found;
}

function bindingOf(service: XmlElement): BindingName | undefined {
  const binding = attributeOf(service, "Binding");
  if (binding === bindings.redirect) return "redirect";
  return binding === bindings.post ? "post" : undefined;
}

/** An https address, or http on the loopback interface. Browsers are sent there. */
function addressIn(service: XmlElement, attribute: string): string {
  const text = attributeOf(service, attribute) ?? "";
  const url = /^[\x21-\x7e]+$/.test(text) && text.length <= maxUrlLength ? URL.parse(text) : null;
  const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? "");
  if (!url || !(url.protocol === "https:" || (url.protocol === "http:" && loopback))) {
    throw new XmlIssue(`its ${service.local} has a ${attribute} that is not an https URL`);
  }
  if (url.username !== "" || url.password !== "" || url.hash !== "") {
    throw new XmlIssue(`its ${service.local} has a ${attribute} with credentials or a fragment`);
  }
  return text;
}

/** Certificates for signing and without a stated use. Unusable ones cause warnings, and one usable must remain. */
function certificatesOf(provider: XmlElement, warnings: string[]): readonly string[] {
  const found = new Set<string>();
  for (const descriptor of childrenOf(provider, md, "KeyDescriptor")) {
    if ((attributeOf(descriptor, "use") ?? "signing") !== "signing") continue;
    const held = [...walkElements(descriptor)].filter((one) => isNamed(one, ds, "X509Certificate"));
    if (held.length === 0) warnings.push("a KeyDescriptor has no X509Certificate");
    for (const one of held) {
      const issue = certificateIssue(textIn(one), found);
      if (issue) warnings.push(issue);
    }
  }
  if (found.size === 0) throw new XmlIssue(["it has no certificate to verify signatures", ...warnings].join("; "));
  if (found.size > maxCertificates) throw new XmlIssue(`it has more than ${maxCertificates} certificates`);
  return [...found];
}

function certificateIssue(text: string, found: Set<string>): string | undefined {
  const bytes = readBase64(text);
  if (!bytes) return "a certificate is not base64";
  try {
    const issue = keyIssue(readCertificate(bytes.toString("base64")).publicKey);
    if (issue) return `a certificate ${issue}`;
  } catch {
    return "a certificate cannot be read";
  }
  found.add(bytes.toString("base64"));
  return undefined;
}

/** Certificates only carry keys here, because providers continue to use them after they expire. */
function certificateDates(certificates: readonly string[], nowMs: number): string[] {
  return certificates.map(readCertificate).flatMap(({ validFromDate, validToDate }) => {
    if (validToDate.getTime() < nowMs) return [`a certificate expired at ${validToDate.toISOString()}`];
    return validFromDate.getTime() > nowMs ? [`a certificate is not valid before ${validFromDate.toISOString()}`] : [];
  });
}

/** The earliest end stated for the provider, its entity, or an enclosing element. */
function lifetimeOf(provider: XmlElement): Pick<IdpMetadata, "validUntilMs" | "cacheSeconds"> {
  let validUntilMs = Number.POSITIVE_INFINITY;
  let cacheSeconds = Number.POSITIVE_INFINITY;
  for (let at: XmlElement | undefined = provider; at; at = at.parent) {
    const until = attributeOf(at, "validUntil");
    const untilMs = until === undefined ? validUntilMs : readInstant(until);
    const cache = attributeOf(at, "cacheDuration");
    const seconds = cache === undefined ? cacheSeconds : readDuration(cache);
    if (untilMs === undefined) throw new XmlIssue("its validUntil cannot be read");
    if (seconds === undefined) throw new XmlIssue("its cacheDuration cannot be read");
    validUntilMs = Math.min(validUntilMs, untilMs);
    cacheSeconds = Math.min(cacheSeconds, seconds);
  }
  return {
    ...(validUntilMs < Number.POSITIVE_INFINITY && { validUntilMs }),
    ...(cacheSeconds < Number.POSITIVE_INFINITY && { cacheSeconds }),
  };
}
