/** Single keys of a terminal, taken as they are pressed. */
import { readFileSync } from "node:fs";

type Input = Pick<NodeJS.ReadStream, "isTTY" | "setRawMode" | "resume" | "pause" | "on" | "off" | "unref">;

const interrupt = "\u0003";
const suspend = "\u001A";

/**
 * `q` ends this process as SIGTERM does; Ctrl+C, Ctrl+Z and Ctrl+\ do what they always do, which the terminal leaves to
 * us while it hands out single keys. Returns what gives the terminal back as it was; undefined where there is none to
 * read from, or it is another process's at present.
 */
export function takeKeys(input: Input, redraw: () => void): (() => void) | undefined {
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
      }
    }
  };
  const goOn = (): void => {
    if (isInForeground()) take();
    redraw();
  };
  take();
  input.on("data", pressed);
  process.on("SIGCONT", goOn);
  // However it ends: a second signal does not wait for anything.
  process.once("exit", giveBack);
  return () => {
    input.off("data", pressed);
    process.off("SIGCONT", goOn);
    process.off("exit", giveBack);
    giveBack();
  };
}

/** Whoever reads from the terminal in the background is stopped for it. Known on Linux; elsewhere taken to be so. */
function isInForeground(): boolean {
  try {
    // The name may have spaces and brackets; behind it: state, ppid, pgrp, session, tty_nr, tpgid (proc(5)).
    const stat = readFileSync("/proc/self/stat", "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[2] === fields[5];
  } catch {
    return true;
  }
}
