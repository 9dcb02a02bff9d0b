import { hash, X509Certificate } from "node:crypto";
import { bindings, ds, md, samlp } from "../xml-names.ts";
import { writeElement } from "../xml/write.ts";

export interface ServiceProvider {
  readonly entityId: string;
  readonly acsUrl: string;
  readonly sloUrl: string;
  readonly nameIdFormat: string;
  /** PEM. Two during a key rollover. */
  readonly signingCertificates: readonly string[];
}

export interface Document {
  readonly body: string;
  readonly contentType: string;
  /** A strong entity tag with its quotes (RFC 9110 §8.8.3). */
  readonly etag: string;
}

/** Writes the route's metadata for identity providers (saml-metadata §2.4.4). Equal input gives equal bytes. */
export function writeSpMetadata(provider: ServiceProvider): Document {
  const service = (name: string, binding: string, location: string, more: Readonly<Record<string, string>> = {}) =>
    writeElement(name, { Binding: binding, Location: location, ...more });
  const { xml } = writeElement(
    "md:EntityDescriptor",
    { "xmlns:md": md, entityID: provider.entityId },
    writeElement(
      "md:SPSSODescriptor",
      { AuthnRequestsSigned: "true", WantAssertionsSigned: "true", protocolSupportEnumeration: samlp },
      ...provider.signingCertificates.map((pem) =>
        writeElement(
          "md:KeyDescriptor",
          { use: "signing" },
          writeElement(
            "ds:KeyInfo",
            { "xmlns:ds": ds },
            writeElement("ds:X509Data", {}, writeElement("ds:X509Certificate", {}, derOf(pem))),
          ),
        ),
      ),
      service("md:SingleLogoutService", bindings.redirect, provider.sloUrl),
      service("md:SingleLogoutService", bindings.post, provider.sloUrl),
      writeElement("md:NameIDFormat", {}, provider.nameIdFormat),
      service("md:AssertionConsumerService", bindings.post, provider.acsUrl, { index: "0", isDefault: "true" }),
    ),
  );
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n${xml}\n`;
  const etag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  return { body, contentType: "application/samlmetadata+xml", etag };
}

function derOf(pem: string): string {
  return new X509Certificate(pem).raw.toString("base64");
}
