/** Where the edges of one process meet: a directory that nobody else may enter, and a secret that nobody else has. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PeerOptions } from "../../edge/edge-options.ts";

export interface PeerRoom {
  /** A place for one start of an edge: the sockets of those that died are left behind. */
  place(): PeerOptions;
  close(): void;
}

/** @param count how many edges there are */
export function openPeerRoom(count: number): PeerRoom {
  const directory = mkdtempSync(join(tmpdir(), "postern-"));
  const secret = randomBytes(32);
  let places = 0;
  return {
    place() {
      places += 1;
      return { listen: { kind: "unix", path: join(directory, `${places}.sock`) }, secret, count };
    },
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
