/**
 * A turn of the event loop, in phases: what came in it is read first, all of it, then tunnels are written, then
 * sockets. Doing the same thing to many connections in a row costs less than all things to one after another: what it
 * takes stays in the processor's caches, and whom we write to is not woken for each write alone.
 */
export interface TurnTask {
  /** Called once for each time that it was put off. Must not throw: what others have put off would be lost. */
  turn(): void;
}

const phases: TurnTask[][] = [[], [], []];

/** The phases, in their order. */
export const phase = { read: 0, tunnels: 1, sockets: 2 } as const;

/** Each in an immediate of its own: what promises have been waiting for is done before the next. */
const runners = phases.map((_, at) => (): void => runPhase(at));
let isScheduled = false;

/** Puts a task off until its phase of this turn; from within that phase or a later one, until the next turn's. */
export function putOff(task: TurnTask, until: (typeof phase)[keyof typeof phase]): void {
  (phases[until] as TurnTask[]).push(task);
  if (!isScheduled) schedule();
}

function schedule(): void {
  isScheduled = true;
  for (const runner of runners) setImmediate(runner);
}

function runPhase(at: number): void {
  const tasks = phases[at] as TurnTask[];
  if (tasks.length > 0) {
    phases[at] = [];
    for (const task of tasks) task.turn();
  }
  if (at < phases.length - 1) return;
  isScheduled = false;
  if (phases.some(isWaitedFor)) schedule();
}

function isWaitedFor(tasks: readonly TurnTask[]): boolean {
  return tasks.length > 0;
}
