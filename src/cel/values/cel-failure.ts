/** The result of an evaluation that has no value. Returned, never thrown. */
export class CelFailure {
  readonly message: string;
  /** A bound of steps or size was reached. `&&`, `||`, `all` and `exists` do not absorb this failure. */
  readonly isFinal: boolean;
  /** UTF-16 offset of the failed part in the source; -1 while unknown. */
  offset = -1;

  constructor(message: string, isFinal = false) {
    this.message = message;
    this.isFinal = isFinal;
  }
}
