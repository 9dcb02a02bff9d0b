import { makeLogoutRequest, makeLogoutResponse } from "../saml/logout/make-logout.ts";
import { verifyLogout } from "../saml/logout/verify-logout.ts";
import type { LogoutInput } from "../saml/logout/verify-logout.ts";
import { readIdpMetadata } from "../saml/metadata/read-metadata.ts";
import { writeSpMetadata } from "../saml/metadata/write-metadata.ts";
import { makeAuthnRequest } from "../saml/requests/authn-request.ts";
import { verifyResponse } from "../saml/response/checks/verify-response.ts";
import type { ResponseHost } from "../saml/response/work.ts";

/** All work of the identity worker, so that the traffic thread does none of it. */
export const identityCalls = {
  "saml.readIdpMetadata": ({ text, nowMs }: { readonly text: string; readonly nowMs: number }) =>
    readIdpMetadata(text, nowMs),
  "saml.writeSpMetadata": writeSpMetadata,
  "saml.makeAuthnRequest": makeAuthnRequest,
  "saml.verifyResponse": verifyResponse,
  "saml.makeLogoutRequest": makeLogoutRequest,
  "saml.makeLogoutResponse": makeLogoutResponse,
  "saml.verifyLogout": (input: LogoutInput, host: Pick<ResponseHost, "claim">) => verifyLogout(input, host.claim),
} as const;

export type IdentityCalls = typeof identityCalls;
