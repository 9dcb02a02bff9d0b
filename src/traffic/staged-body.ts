import { captureWork } from "../lib/heartbeat.ts";
import type { Transform } from "node:stream";
import { makeContained } from "../lib/boundary.ts";
import { GatheredBytes } from "../lib/gathered-bytes.ts";
import { streamOf } from "./body-stage.ts";
import type { BodyStage } from "./body-stage.ts";

/** Passes a whole body through the stages of response rules. Rejects if one of them fails. */
export async function throughStages(body: Buffer, stages: readonly BodyStage[]): Promise<Buffer> {
  const inSameWork = captureWork();
  let bytes = body;
  for (const stage of stages) bytes = inSameWork(await pipeThrough(streamOf(stage), bytes));
  return bytes;
}

function pipeThrough(stage: Transform, bytes: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const pieces = new GatheredBytes();
  const add = (piece: Buffer): void => pieces.add(piece);
  stage.on("data", makeContained("exchange", add, reject));
  const ended = (): void => resolve(pieces.join());
  stage.on("end", makeContained("exchange", ended, reject));
  stage.on("error", reject);
  stage.end(bytes);
  return promise;
}
