/** Reads single keys from the terminal as the user presses them. */
import { readFileSync } from "node:fs";

type Input = Pick<NodeJS.ReadStream, "isTTY" | "setRawMode" | "resume" | "pause" | "on" | "off" | "unref">;

const interrupt = "\u0003";
const suspend = "\u001A";

/**
 * `q` ends this process as SIGTERM does. Ctrl+C, Ctrl+Z and Ctrl+\ keep their meaning, which a terminal in raw mode
 * leaves to the program. Returns a function that restores the terminal. Returns undefined without a terminal, or while
 * another process uses it.
 *
 * @param other called with every other key
 */
export function takeKeys(
  input: Input,
  redraw: () => void,
  other: (key: string) => void = () => {},
): (() => void) | undefined {
  if (!input.isTTY || !isInForeground()) return undefined;
  const send = (signal: NodeJS.Signals): void => void process.kill(process.pid, signal);
  const take = (): void => {
    input.setRawMode(true);
    input.resume();
  };
  const giveBack = (): void => {
    input.setRawMode(false);
    input.pause();
  };
  const pressed = (bytes: Buffer): void => {
    for (const key of bytes.toString("latin1")) {
      if (key === "q" || key === "Q") send("SIGTERM");
      else if (key === interrupt) send("SIGINT");
      else if (key === suspend) {
        giveBack();
        send("SIGTSTP");
      } else other(key);
    }
  };
  const goOn = (): void => {
    if (isInForeground()) take();
    redraw();
  };
  take();
  input.on("data", pressed);
  process.on("SIGCONT", goOn);
  // Restore the terminal on every exit: a second signal ends the process immediately.
  process.once("exit", giveBack);
  return () => {
    input.off("data", pressed);
    process.off("SIGCONT", goOn);
    process.off("exit", giveBack);
    giveBack();
  };
}

/** The system stops a background process that reads from the terminal. Known on Linux; assumed elsewhere. */
function isInForeground(): boolean {
  try {
    // The name may contain spaces and brackets. After it: state, ppid, pgrp, session, tty_nr, tpgid (proc(5)).
    const stat = readFileSync("/proc/self/stat", "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[2] === fields[5];
  } catch {
    return true;
  }
}
