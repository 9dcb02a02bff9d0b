/** Namespaces and identifiers of SAML 2.0 (saml-core-2.0-os, saml-bindings-2.0-os) and of XML signatures. */

export const samlp = "urn:oasis:names:tc:SAML:2.0:protocol";
export const saml = "urn:oasis:names:tc:SAML:2.0:assertion";
export const md = "urn:oasis:names:tc:SAML:2.0:metadata";
export const ds = "http://www.w3.org/2000/09/xmldsig#";

export const bindings = {
  redirect: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
  post: "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
} as const;

export const status = {
  success: "urn:oasis:names:tc:SAML:2.0:status:Success",
  partialLogout: "urn:oasis:names:tc:SAML:2.0:status:PartialLogout",
} as const;

export const nameIdFormats = {
  entity: "urn:oasis:names:tc:SAML:2.0:nameid-format:entity",
  /** In both versions: the second one is not in the standard, but is used. */
  unspecified: [
    "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified",
    "urn:oasis:names:tc:SAML:2.0:nameid-format:unspecified",
  ],
  email: [
    "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
    "urn:oasis:names:tc:SAML:2.0:nameid-format:emailAddress",
  ],
} as const;

export const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
