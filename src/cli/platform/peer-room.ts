/**
 * Rendezvous of the edges of one process: a directory that only this user can enter, and a secret that only they have.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UnixPlace } from "../../edge/peers/unix-transport.ts";

export interface PeerRoom {
  /** Returns a place for one start of an edge. The sockets of dead edges remain. */
  place(): UnixPlace;
  /** Returns the path at which edge `at` accepts sessions of SSH clients. */
  gatewayPath(at: number): string;
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
    gatewayPath: (at) => join(directory, `ssh-${at}.sock`),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}
