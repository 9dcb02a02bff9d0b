/** Where the edges of one process meet: a directory that nobody else may enter, and a secret that nobody else has. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UnixPlace } from "../../edge/peers/unix-transport.ts";

export interface PeerRoom {
  /** A place for one start of an edge: the sockets of those that died are left behind. */
  place(): UnixPlace;
  close(): void;
}

export function openPeerRoom(): PeerRoom {
  const directory = mkdtempSync(join(tmpdir(), "postern-"));
  const secret = randomBytes(32);
  let places = 0;
  return {
    place() {
      places += 1;
      return { path: join(directory, `${places}.sock`), secret };
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
