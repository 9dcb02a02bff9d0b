/** What an evaluation gives instead of a value when it cannot give one. Returned, never thrown. */
export class Failure {
  readonly message: string;
  /** A bound was reached, of steps or of size. `&&`, `||`, `all` and `exists` do not absorb this failure. */
  readonly isFinal: boolean;
  /** UTF-16 offset in the source of the part that failed; -1 until it is known. */
  offset = -1;

  constructor(message: string, isFinal = false) {
    this.message = message;
    this.isFinal = isFinal;
  }
}
