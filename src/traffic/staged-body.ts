import { sameWork } from "../lib/heartbeat.ts";
import type { Transform } from "node:stream";
import { contained } from "../lib/boundary.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";
import { streamOf } from "./body-stage.ts";
import type { BodyStage } from "./body-stage.ts";

/** Passes a whole body through the stages of response rules. Rejects if one of them fails. */
export async function throughStages(body: Buffer, stages: readonly BodyStage[]): Promise<Buffer> {
  const here = sameWork();
  let bytes = body;
  for (const stage of stages) bytes = here(await through(streamOf(stage), bytes));
  return bytes;
}

function through(stage: Transform, bytes: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces = new GatheredBytes();
  const add = (piece: Buffer): void => pieces.add(piece);
  stage.on("data", contained("exchange", add, reject));
  const ended = (): void => resolve(pieces.join());
  stage.on("end", contained("exchange", ended, reject));
  stage.on("error", reject);
  stage.end(bytes);
  return promise;
}
