/**
 * Node's direct conversions, which its type package leaves out: half the cost of `toString` and `write` with an encoding
 * for short strings, such as those of a header.
 */
interface Buffer<TArrayBuffer extends ArrayBufferLike = ArrayBufferLike> {
  latin1Slice(start?: number, end?: number): string;
  /** Returns the number of bytes written. */
  latin1Write(text: string, offset?: number, length?: number): number;
  utf8Slice(start?: number, end?: number): string;
  /** Likewise; whole characters. */
  utf8Write(text: string, offset?: number, length?: number): number;
}
