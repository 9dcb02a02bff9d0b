/** CEL's standard functions. */
import type { FunctionDeclaration } from "../checking/function-declarations.ts";
import { comparisons } from "./comparisons.ts";
import { conversions } from "./conversions.ts";
import { operators } from "./operators.ts";
import { texts } from "./texts.ts";
import { times } from "./time-functions.ts";

export const standardFunctions: readonly FunctionDeclaration[] = [
  ...operators,
  ...comparisons,
  ...conversions,
  ...texts,
  ...times,
];
