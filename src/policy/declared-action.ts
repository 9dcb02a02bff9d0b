import type { Fields, Issue } from "../schema/fields.ts";
import type { Phase } from "./action.ts";

export interface DeclaredAction {
  /** As the policy names it, e.g. `add-headers`. */
  readonly type: string;
  readonly phases: readonly Phase[];
  readonly doc: string;
  readonly config: Fields;
  /** A fact across fields: what is wrong with a config that its fields allow. */
  readonly rule?: (config: Readonly<Record<string, unknown>>) => Issue | undefined;
}
