/**
 * Follows the frames of a server (RFC 6455 §5.2) to know where a frame of the edge can be inserted. Reads only the 2 to
 * 14 bytes of each frame's head, and steps over payloads.
 */
export class FrameBoundary {
  /** Whether a close frame has begun. No frame may follow it. */
  isClosing = false;
  /** Remaining bytes of the payload. */
  #left = 0;
  /** Number of bytes of the current head that were read. 0 in a payload and between frames. */
  #headBytes = 0;
  #lengthBytes = 0;
  #maskBytes = 0;
  #length = 0;

  /** Whether the last frame is complete. */
  get isBetween(): boolean {
    return this.#left === 0 && this.#headBytes === 0;
  }

  pass(bytes: Buffer): void {
    if (this.#left >= bytes.length) this.#left -= bytes.length;
    else for (let at = 0; at < bytes.length;) at = this.#step(bytes, at);
  }

  /** Passes the bytes up to the end of the current frame. Returns their number. */
  passFrame(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && !this.isBetween) at = this.#step(bytes, at);
    return at;
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#left > 0) {
      const taken = Math.min(this.#left, bytes.length - at);
      this.#left -= taken;
      return at + taken;
    }
    this.#head(bytes[at] as number);
    return at + 1;
  }

  #head(byte: number): void {
    this.#headBytes += 1;
    if (this.#headBytes === 1) {
      if ((byte & 0x0f) === 8) this.isClosing = true;
      return;
    }
    if (this.#headBytes === 2) {
      const short = byte & 0x7f;
      this.#lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
      // Servers do not mask, but a frame of one that does is as long.
      this.#maskBytes = (byte & 0x80) === 0 ? 0 : 4;
      this.#length = this.#lengthBytes === 0 ? short : 0;
    } else if (this.#lengthBytes > 0) {
      this.#lengthBytes -= 1;
      this.#length = this.#length * 256 + byte;
    } else this.#maskBytes -= 1;
    if (this.#lengthBytes > 0 || this.#maskBytes > 0) return;
    this.#headBytes = 0;
    this.#left = this.#length;
  }
}
