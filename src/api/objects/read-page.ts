/** Pages of objects, as they are read and before they are rendered. */
import type { StoredObject } from "../../storage/store.ts";
import type { Views } from "./views.ts";

export interface Page {
  readonly objects: readonly StoredObject[];
  /** Older objects follow. */
  readonly more: boolean;
}

/** Newest first, of those that sort before `beforeId`. */
export type ReadPage = (request: { readonly limit: number; readonly beforeId: string | undefined }) => Page;

/** A collection as it is, or was at a revision, to be looked through. */
export interface Looked {
  readonly revision: number;
  read(request: Parameters<ReadPage>[0]): Page | Promise<Page>;
  /** How these of its objects are shown. */
  viewsOf(objects: readonly StoredObject[]): Views | Promise<Views>;
}
