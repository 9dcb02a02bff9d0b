import type { Worker } from "node:worker_threads";
import type { Clock, Timer } from "./clock.ts";
import { beatsOf, workOf } from "./heartbeat.ts";
import type { Heart } from "./heartbeat.ts";
import type { Log } from "./log.ts";
import { sampleStack } from "./stack-sample.ts";

export interface WatchedThread {
  /** As the log calls it. */
  readonly name: string;
  readonly worker: Worker;
  readonly heart: Heart;
  /** Seconds without a beat after which it is ended. */
  readonly seconds: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Told before the thread is ended. @param work the mark of what it was at; 0 where that is not known */
  hung?(work: number): void;
}

/** Seconds, for threads whose operator has no setting for it. */
export const hungAfterSeconds = 10;

/** Ends a thread that does not answer, and logs what it was executing. */
export async function endHungThread(name: string, worker: Worker, log: Pick<Log, "error">): Promise<void> {
  const stack = await sampleStack(worker.threadId);
  log.error(`${name} hangs, ending it`, { stack: stack.join("\n") });
  await worker.terminate();
}

/**
 * Ends a thread whose event loop stands still, and logs what it was executing. Whoever has started the thread sees it exit,
 * and starts another. Looks are counted and not time: a machine that slept, or a process that was stopped, is no hang.
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
