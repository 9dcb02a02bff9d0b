import { modules } from "../../modules/index.ts";
import { resources } from "../../resources/index.ts";
import type { Declarations } from "../rows/kinds.ts";

/** Declarations of the kinds that a server stores. Tests of storage have separate declarations. */
export const storedKinds: Declarations = { resources, modules };
