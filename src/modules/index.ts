/** Every module, in the order in which they act on traffic (completing-the-api.md §3.1). This list is the order. */
import { backend } from "./backend.ts";
import type { ModuleDeclaration } from "./module.ts";

export const modules: readonly ModuleDeclaration[] = [backend] as unknown as readonly ModuleDeclaration[];
