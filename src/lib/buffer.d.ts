/**
 * Node's direct latin-1 conversions, which its type package leaves out: half the cost of `toString("latin1")` and
 * `write(text, "latin1")` for the short strings of a header.
 */
interface Buffer<TArrayBuffer extends ArrayBufferLike = ArrayBufferLike> {
  latin1Slice(start?: number, end?: number): string;
  /** Returns the number of bytes written. */
  latin1Write(text: string, offset?: number, length?: number): number;
}
