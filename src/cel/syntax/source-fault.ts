/** Thrown inside the reading of a source, and turned into an issue where it began. */
export class SourceFault extends Error {
  override readonly name = "SourceFault";
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(offset: number, message: string, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}
