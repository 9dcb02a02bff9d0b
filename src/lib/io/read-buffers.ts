import type { OnReadOpts, Socket } from "node:net";

/** What a socket reads at once at most, bytes; the size that libuv asks for. */
const blockBytes = 64 * 1024;
/** Up to so many bytes are copied out of the block, which is read into again; more are handed over with the block. */
const maxCopiedBytes = 16 * 1024;

/** Of the options of `net.connect`. */
export interface TcpReading {
  readonly onread: OnReadOpts;
}

/** What all sockets read into; nothing is in it between two reads. */
const shared = Buffer.allocUnsafeSlow(blockBytes);

/**
 * Options for `net.connect` without TLS: the socket reads into a block that all of these share, and emits `data` as any
 * other does. What it reads while nobody listens is lost: whoever wants it listens once it is connected, at the latest.
 *
 * Node would give each read a block of its own where a thread reads plain TCP and TLS in turns (decision 30).
 */
export function readingIntoShared(): TcpReading {
  let block = shared;
  return {
    onread: {
      buffer: () => block,
      callback(this: Socket, length: number) {
        const bytes = block.subarray(0, length);
        if (length <= maxCopiedBytes) {
          block = shared;
          return this.emit("data", Buffer.from(bytes));
        }
        // Much is coming: the next block is this socket's own, and goes with what is read into it.
        const isOwn = block !== shared;
        block = Buffer.allocUnsafeSlow(blockBytes);
        return this.emit("data", isOwn ? bytes : Buffer.from(bytes));
      },
    } as OnReadOpts,
  };
}
