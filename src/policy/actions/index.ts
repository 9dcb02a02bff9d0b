/** Every action that a traffic policy may have, one file each. */
import type { ActionDeclaration } from "../action.ts";
import { addHeaders } from "./add-headers.ts";
import { customResponse } from "./custom-response.ts";
import { deny } from "./deny.ts";

export const actions: readonly ActionDeclaration[] = [addHeaders, customResponse, deny];

/** Actions of the vendor's policies that this server does not have, and why. */
export const unsupportedActions: Readonly<Record<string, string>> = {
  "ai-gateway": "it needs a service of the vendor's",
  "owasp-crs-request": "its rule set is not part of this server; put a web application firewall behind it",
  "owasp-crs-response": "its rule set is not part of this server; put a web application firewall behind it",
};
