/** Pages of objects, before they are rendered. */
import type { StoredObject } from "../../storage/store.ts";
import type { Views } from "./views.ts";

export interface Page {
  readonly objects: readonly StoredObject[];
  /** Whether older objects follow. */
  readonly more: boolean;
}

/** Returns the newest objects that sort before `beforeId`, newest first. */
export type ReadPage = (request: { readonly limit: number; readonly beforeId: string | undefined }) => Page;

/** A collection in its present or past state, for searching. */
export interface Looked {
  readonly revision: number;
  read(request: Parameters<ReadPage>[0]): Page | Promise<Page>;
  /** Returns the views for these objects. */
  viewsOf(objects: readonly StoredObject[]): Views | Promise<Views>;
}
