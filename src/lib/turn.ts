import { endUnit } from "./boundary.ts";
import type { Unit } from "./boundary.ts";

/**
 * A turn of the event loop, in phases: first all input is read, then tunnels are written, then sockets. The same work
 * for many connections in a row costs less than all work for one after another: its code and data stay in the
 * processor's caches. It also wakes peers less often.
 */
export interface TurnTask extends Unit {
  /** Called once for each deferral. If it throws, `broke` is called, and other tasks continue. */
  turn(): void;
}

/** Tasks deferred to one phase. The lists are reused, with the length of the longest turn. */
class TurnPhase {
  #tasks: (TurnTask | undefined)[] = [];
  #count = 0;
  #others: (TurnTask | undefined)[] = [];

  get isWaitedFor(): boolean {
    return this.#count > 0;
  }

  add(task: TurnTask): void {
    this.#tasks[this.#count] = task;
    this.#count += 1;
  }

  /** Tasks deferred from within wait for the next run. */
  run(): void {
    const [tasks, count] = [this.#tasks, this.#count];
    this.#tasks = this.#others;
    this.#others = tasks;
    this.#count = 0;
    for (let at = 0; at < count; at += 1) {
      const task = tasks[at] as TurnTask;
      tasks[at] = undefined;
      try {
        task.turn();
      } catch (error) {
        endUnit("task", task, error);
      }
    }
  }
}

const phases = [new TurnPhase(), new TurnPhase(), new TurnPhase()] as const;

/** The phases, in their order. */
export const phase = { read: 0, tunnels: 1, sockets: 2 } as const;

let isScheduled = false;

/** Defers a task to its phase of this turn. From within that phase or a later one, defers it to the next turn. */
export function putOff(task: TurnTask, until: (typeof phase)[keyof typeof phase]): void {
  phases[until].add(task);
  if (!isScheduled) scheduleTurn();
}

/** Uses two immediates, so that promises of the reading phase resolve before anything is written. */
function scheduleTurn(): void {
  isScheduled = true;
  setImmediate(runReads);
  setImmediate(runWrites);
}

function runReads(): void {
  phases[phase.read].run();
}

function runWrites(): void {
  phases[phase.tunnels].run();
  phases[phase.sockets].run();
  isScheduled = phases.some(isWaitedFor);
  if (isScheduled) scheduleTurn();
}

function isWaitedFor(one: TurnPhase): boolean {
  return one.isWaitedFor;
}
