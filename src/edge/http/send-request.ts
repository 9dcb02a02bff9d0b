import { trafficIdLength } from "../../lib/traffic-ids.ts";
import type { TrafficId } from "../../lib/traffic-ids.ts";
import { putBytes, reserveSlab, slab } from "../../http1/slab.ts";
import type { TraceLine } from "./exchange-trace.ts";
import { requestHeadBytes, writeRequestHead } from "./forwarded-fields.ts";
import type { ReceivedRequest } from "./received-request.ts";
import type { RequestBody } from "./request-body.ts";
import type { UpstreamConnection } from "../upstreams/upstream-connection.ts";
import type { UpstreamUser } from "../upstreams/upstream-user.ts";

/** Maximum size of an available body that is written together with the head, bytes. */
const joinBytes = 16 * 1024;
const noPieces: readonly Buffer[] = [];

/**
 * Sends a request's head on a connection, with the available part of its body. Returns false if the caller must wait
 * for `upstreamDrained`.
 *
 * @param forwarded the lines that describe the client to the upstream
 */
export function sendRequest(
  connection: UpstreamConnection,
  user: UpstreamUser,
  request: ReceivedRequest,
  forwarded: string,
  requestId: TrafficId,
  body: RequestBody,
  traceLine?: TraceLine,
): boolean {
  const { headers, upstreamTarget: target, method, upgrade } = request;
  const chunked = request.bodyLength < 0;
  const joined = !chunked && body.size <= joinBytes ? body.size : 0;
  reserveSlab(
    requestHeadBytes +
      method.length +
      target.length +
      upgrade.length +
      headers.byteBound +
      forwarded.length +
      trafficIdLength +
      (traceLine?.lineLength ?? 0) +
      joined,
  );
  const { bytes, used } = slab;
  let at = writeRequestHead(bytes, used, request, chunked, forwarded, requestId, traceLine);
  if (joined > 0) for (const piece of body.lend()) at = putBytes(bytes, at, piece, 0, piece.length);
  slab.used = at;
  const left = body.size > 0 ? body.lend() : noPieces;
  let hasRoom = connection.begin(user, bytes.subarray(used, at), {
    isHead: method === "HEAD",
    chunked,
    complete: body.hasEnded && !chunked && left.length === 0,
  });
  for (const piece of left) hasRoom = connection.sendBody(piece);
  if (body.hasEnded && (chunked || left.length > 0)) connection.endBody(body.trailers);
  return hasRoom;
}
