/** A kind of value that settings take: what stands for it in the help, and how its text is read. */
export interface Kind<T> {
  /** What stands for the value in the help: its form, or its unit. */
  readonly placeholder: string;
  /** Throws `Error` with what the value must be, as "must …": whoever reads it adds where it came from. */
  parse(given: string): T;
}
