/** Every module, in the order in which they act on traffic (completing-the-api.md §3.1). This list is the order. */
import { backend } from "./backend.ts";
import { ipRestriction } from "./ip-restriction.ts";
import type { ModuleDeclaration } from "./module.ts";
import { tlsTermination } from "./tls-termination.ts";

export const modules: readonly ModuleDeclaration[] = [
  tlsTermination,
  ipRestriction,
  backend,
] as unknown as readonly ModuleDeclaration[];
