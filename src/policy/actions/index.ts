/** Every action that a traffic policy may have, one file each. */
import type { ActionDeclaration } from "../action.ts";
import { addHeaders } from "./add-headers.ts";
import { customResponse } from "./custom-response.ts";
import { deny } from "./deny.ts";

export const actions: readonly ActionDeclaration[] = [addHeaders, customResponse, deny];
