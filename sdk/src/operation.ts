/** A row of the table of operations. */
export interface Operation {
  /** As in the API's description, e.g. `createIPPolicy`. */
  readonly id: string;
  /** Words of the path, which are the way to the method; none: a method of the client itself. */
  readonly group: readonly string[];
  readonly verb: string;
  readonly method: string;
  /** With a place for each argument, e.g. `/ip_policies/{id}`. */
  readonly path: string;
  readonly takesBody?: boolean;
  /** Names of the query parameters. */
  readonly query?: readonly string[];
  readonly answers: "object" | "list" | "text" | "nothing";
  /** Key of the objects in a page. */
  readonly listKey?: string;
}
