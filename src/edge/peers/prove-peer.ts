/** First bytes of a line between edges. Each end proves that it knows the secret without revealing it. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import { guardListener } from "../../lib/boundary.ts";
import type { Clock } from "../../lib/clock.ts";
import { handshakeMs } from "./peer-transport.ts";

/** Size of a nonce, and of a proof, bytes. */
const partBytes = 32;

type Role = "dialler" | "acceptor";

/**
 * Calls `done` once. Without an error, the other end has proven itself, and none of its later bytes were read.
 * Otherwise the socket is destroyed.
 */
export function provePeer(
  socket: Socket,
  role: Role,
  secret: Uint8Array,
  clock: Clock,
  done: (error: Error | undefined) => void,
): void {
  const own = randomBytes(partBytes);
  let theirs: Buffer | undefined;
  const proofOf = (prover: Role, other: Buffer): Buffer => {
    const [dialled, accepted] = role === "dialler" ? [own, other] : [other, own];
    return createHmac("sha256", secret).update(`postern peer ${prover}`).update(dialled).update(accepted).digest();
  };
  const settle = (error: Error | undefined): void => {
    deadline.cancel();
    socket.off("readable", reading);
    socket.off("close", closing);
    if (error) socket.destroy();
    done(error);
  };
  const closed = (): void => settle(new Error("the other edge closed the line"));
  const read = (): void => {
    for (;;) {
      const part = socket.read(partBytes) as Buffer | null;
      if (part === null) return;
      if (part.length < partBytes) return settle(new Error("the other edge said too little"));
      if (theirs === undefined) {
        theirs = part;
        // The dialled end proves itself first, so an impostor at its address learns nothing.
        if (role === "acceptor") socket.write(Buffer.concat([own, proofOf("acceptor", theirs)]));
        continue;
      }
      const isProven = timingSafeEqual(part, proofOf(role === "dialler" ? "acceptor" : "dialler", theirs));
      if (!isProven) return settle(new Error("the other end does not have the secret of the edges"));
      if (role === "dialler") socket.write(proofOf("dialler", theirs));
      return settle(undefined);
    }
  };
  const reading = guardListener(socket, read);
  const closing = guardListener(socket, closed);
  const deadline = clock.after(handshakeMs, () => settle(new Error("the other edge did not prove itself in time")));
  socket.on("readable", reading);
  socket.on("close", closing);
  if (role === "dialler") socket.write(own);
}
