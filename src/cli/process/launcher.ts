/**
 * The launcher, `bin/launch.js`, runs this process on another Node than its own. It passes signals on, which it
 * cannot when it is killed (kill -9): then the pipe between the two closes, and this process ends as by SIGTERM.
 */
import { Socket } from "node:net";

/** Names the descriptor of that pipe; absent where no launcher is between, whoever else started this process. */
const variable = "POSTERN_LAUNCHER_FD";

/** Ends this process when its launcher has gone. Does nothing without one, and keeps no process alive. */
export function followLauncher(): void {
  const descriptor = process.env[variable];
  // Of what this process starts, nobody has the pipe.
  delete process.env[variable];
  if (descriptor !== "3") return;
  const pipe = new Socket({ fd: Number(descriptor), readable: true, writable: false });
  pipe.on("error", () => {});
  pipe.on("close", () => process.kill(process.pid, "SIGTERM"));
  pipe.resume();
  pipe.unref();
}
