import type { Fields, Issue } from "../schema/fields.ts";

/** When rules act, as the policy names it (semantics, "Traffic policies"). */
export type Phase = "on_tcp_connect" | "on_http_request" | "on_http_response";

export interface ActionDeclaration {
  /** As the policy names it, e.g. `add-headers`. */
  readonly type: string;
  readonly phases: readonly Phase[];
  readonly doc: string;
  readonly config: Fields;
  /** A fact across fields: what is wrong with a config that its fields allow. */
  readonly rule?: (config: Readonly<Record<string, unknown>>) => Issue | undefined;
}
