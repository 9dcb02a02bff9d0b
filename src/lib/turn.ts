import { endUnit } from "./boundary.ts";
import type { Unit } from "./boundary.ts";

/**
 * A turn of the event loop, in phases: what came in it is read first, all of it, then tunnels are written, then
 * sockets. Doing the same thing to many connections in a row costs less than all things to one after another: what it
 * takes stays in the processor's caches, and whom we write to is not woken for each write alone.
 */
export interface TurnTask extends Unit {
  /** Called once for each time that it was put off. When it throws, `broke` is called, and other tasks run on. */
  turn(): void;
}

/** What has been put off until one phase. The lists are used again and again, as long as the longest turn has made them. */
class Phase {
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

  /** What is put off from within waits for the next time. */
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

const phases = [new Phase(), new Phase(), new Phase()] as const;

/** The phases, in their order. */
export const phase = { read: 0, tunnels: 1, sockets: 2 } as const;

let isScheduled = false;

/** Puts a task off until its phase of this turn; from within that phase or a later one, until the next turn's. */
export function putOff(task: TurnTask, until: (typeof phase)[keyof typeof phase]): void {
  phases[until].add(task);
  if (!isScheduled) schedule();
}

/** In two immediates: what promises of the reading have been waiting for is done before anything is written. */
function schedule(): void {
  isScheduled = true;
  setImmediate(read);
  setImmediate(write);
}

function read(): void {
  phases[phase.read].run();
}

function write(): void {
  phases[phase.tunnels].run();
  phases[phase.sockets].run();
  isScheduled = phases.some(isWaitedFor);
  if (isScheduled) schedule();
}

function isWaitedFor(one: Phase): boolean {
  return one.isWaitedFor;
}
