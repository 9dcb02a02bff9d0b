/** All actions of traffic policies, one file each. */
import type { ActionDeclaration } from "../language/action.ts";
import { addHeaders } from "./add-headers.ts";
import { basicAuth } from "./basic-auth.ts";
import { circuitBreaker } from "./circuit-breaker.ts";
import { closeConnection } from "./close-connection.ts";
import { compressResponse } from "./compress-response.ts";
import { customResponse } from "./custom-response.ts";
import { deny } from "./deny.ts";
import { forwardInternal } from "./forward-internal.ts";
import { httpRequest } from "./http-request.ts";
import { jwtValidation } from "./jwt-validation.ts";
import { log } from "./log.ts";
import { oauth } from "./oauth.ts";
import { openidConnect } from "./openid-connect.ts";
import { rateLimit } from "./rate-limit.ts";
import { redirect } from "./redirect.ts";
import { removeHeaders } from "./remove-headers.ts";
import { requestBodyFindReplace } from "./request-body-find-replace.ts";
import { responseBodyFindReplace } from "./response-body-find-replace.ts";
import { restrictIps } from "./restrict-ips.ts";
import { saml } from "./saml.ts";
import { setVars } from "./set-vars.ts";
import { sseFindReplace } from "./sse-find-replace.ts";
import { terminateTls } from "./terminate-tls.ts";
import { urlRewrite } from "./url-rewrite.ts";
import { verifyWebhook } from "./verify-webhook.ts";

export const actions: readonly ActionDeclaration[] = [
  addHeaders,
  removeHeaders,
  basicAuth,
  circuitBreaker,
  closeConnection,
  compressResponse,
  customResponse,
  deny,
  forwardInternal,
  httpRequest,
  jwtValidation,
  log,
  oauth,
  openidConnect,
  rateLimit,
  redirect,
  requestBodyFindReplace,
  responseBodyFindReplace,
  restrictIps,
  saml,
  setVars,
  sseFindReplace,
  terminateTls,
  urlRewrite,
  verifyWebhook,
];

/** The actions by their names, including older ones. */
export const actionsByName: ReadonlyMap<string, ActionDeclaration> = new Map(
  actions.flatMap((action) =>
    [action.type, ...(action.alias === undefined ? [] : [action.alias])].map((name) => [name, action] as const),
  ),
);

/** Actions of the vendor's policies that this server does not support, with the reason. */
export const unsupportedActions: Readonly<Record<string, string>> = {
  "ai-gateway": "it needs a service of the vendor",
  "owasp-crs-request": "this server does not include its rule set; use a web application firewall behind it",
  "owasp-crs-response": "this server does not include its rule set; use a web application firewall behind it",
};
