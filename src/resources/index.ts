/** Every resource of the API. This list is what exists: storage, routes, OpenAPI and SDK are read from it. */
import type { ResourceDeclaration } from "../schema/resource.ts";

export const resources: readonly ResourceDeclaration[] = [];
