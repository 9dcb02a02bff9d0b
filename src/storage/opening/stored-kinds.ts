import { modules } from "../../modules/index.ts";
import { resources } from "../../resources/index.ts";
import type { Declarations } from "../rows/kinds.ts";

/** What a server stores. Tests of storage have declarations of their own. */
export const storedKinds: Declarations = { resources, modules };
