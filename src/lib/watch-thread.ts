import type { Worker } from "node:worker_threads";
import type { Clock, Timer } from "./clock.ts";
import { beatsOf, workOf } from "./heartbeat.ts";
import type { Heart } from "./heartbeat.ts";
import type { Log } from "./log.ts";
import { sampleStack } from "./stack-sample.ts";

export interface WatchedThread {
  /** Name in the log. */
  readonly name: string;
  readonly worker: Worker;
  readonly heart: Heart;
  /** Seconds without a beat after which the thread is terminated. */
  readonly seconds: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Called before the thread is terminated. @param work the mark of its present work; 0 if unknown */
  hung?(work: number): void;
}

/** Default in seconds, for threads without a setting. */
export const hungAfterSeconds = 10;

/** Terminates a thread that does not respond, and logs its stack. */
export async function endHungThread(name: string, worker: Worker, log: Pick<Log, "error">): Promise<void> {
  const stack = await sampleStack(worker.threadId);
  log.error(`${name} hangs, ending it`, { stack: stack.join("\n") });
  await worker.terminate();
}

/**
 * Terminates a thread whose event loop hangs, and logs its stack. The code that started the thread handles its exit and
 * starts another. Counts checks instead of time, because a suspended machine or a stopped process is not a hang.
 */
export function watchThread({ name, worker, heart, seconds, clock, log, hung }: WatchedThread): Timer {
  let seen = -1;
  let looks = 0;
  const end = async (): Promise<void> => {
    hung?.(workOf(heart));
    await endHungThread(name, worker, log);
  };
  const look = clock.every(1_000, () => {
    const beats = beatsOf(heart);
    if (beats !== seen) [seen, looks] = [beats, 0];
    else looks += 1;
    if (looks < seconds) return;
    look.cancel();
    end().catch((error: unknown) => log.error(`${name} not ended`, { error }));
  });
  worker.once("exit", () => look.cancel());
  return look;
}
