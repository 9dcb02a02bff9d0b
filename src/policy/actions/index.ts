/** Every action that a traffic policy may have, one file each. */
import type { ActionDeclaration } from "../action.ts";
import { addHeaders } from "./add-headers.ts";
import { customResponse } from "./custom-response.ts";
import { deny } from "./deny.ts";
import { httpRequest } from "./http-request.ts";
import { jwtValidation } from "./jwt-validation.ts";
import { rateLimit } from "./rate-limit.ts";
import { requestBodyFindReplace } from "./request-body-find-replace.ts";
import { responseBodyFindReplace } from "./response-body-find-replace.ts";
import { sseFindReplace } from "./sse-find-replace.ts";

export const actions: readonly ActionDeclaration[] = [
  addHeaders,
  customResponse,
  deny,
  httpRequest,
  jwtValidation,
  rateLimit,
  requestBodyFindReplace,
  responseBodyFindReplace,
  sseFindReplace,
];
