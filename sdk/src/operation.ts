/** A row of the table of operations. */
export interface Operation {
  /** Id in the API's description, e.g. `createIPPolicy`. */
  readonly id: string;
  /** Words of the path that lead to the method; empty for a method of the client itself. */
  readonly group: readonly string[];
  readonly verb: string;
  readonly method: string;
  /** Path with a placeholder for each argument, e.g. `/ip_policies/{id}`. */
  readonly path: string;
  readonly takesBody?: boolean;
  /** Names of the query parameters. */
  readonly query?: readonly string[];
  readonly answers: "object" | "list" | "text" | "nothing";
  /** Key of the list in a page. */
  readonly listKey?: string;
}
