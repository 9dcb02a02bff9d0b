import type { SourceNode } from "../formats/source-tree.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Secrets } from "../report/secrets-file.ts";
import type { Condition } from "./caddy-conditions.ts";

/** One step, in the order of the site. */
export type ImportStep =
  /** Decides whether a route is used. */
  | {
      readonly kind: "route";
      readonly name: string;
      readonly parent: string;
      readonly group: string | undefined;
      readonly condition: Condition;
    }
  /** Acts on the requests of a route. */
  | {
      readonly kind: "act";
      readonly route: string;
      readonly actions: readonly JsonObject[];
      readonly moves?: (path: string) => string;
      readonly ends?: boolean;
    }
  /** Acts on responses if the conditions of its routes match. */
  | {
      readonly kind: "respond";
      readonly condition: Condition;
      readonly actions: readonly JsonObject[];
      readonly proxy?: number;
    }
  | { readonly kind: "proxy"; readonly route: string; readonly proxy: number }
  /** Nothing after this step is tried. */
  | { readonly kind: "end"; readonly route: string };

export interface Proxy {
  readonly node: SourceNode;
  readonly addresses: readonly string[];
  readonly isTls: boolean;
  readonly isFirst: boolean;
  /** Report lines that depend on whether a route leads to the proxy. */
  readonly paths: readonly string[];
  readonly hosts: readonly string[];
}

export interface ImportedSite {
  readonly host: string;
  readonly steps: ImportStep[];
  readonly proxies: Proxy[];
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  compresses: boolean;
  routes: number;
}

/** Position of a handler. */
export interface RouteScope {
  readonly route: string;
  /** Condition of all enclosing routes. */
  readonly condition: Condition;
  /** Whether an earlier handler changed the path, so that the response's rules cannot check it. */
  isMoved: boolean;
}
