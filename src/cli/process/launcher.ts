/**
 * The launcher, `bin/launch.js`, runs this process on a different Node. It forwards signals, except when it is killed
 * (kill -9). In that case the pipe between the two closes, and this process ends as if by SIGTERM.
 */
import { Socket } from "node:net";

/** Name of the variable with the pipe's descriptor. It is absent without a launcher. */
const variable = "POSTERN_LAUNCHER_FD";

/** Ends this process when its launcher has ended. Does nothing without a launcher and keeps no process alive. */
export function followLauncher(): void {
  const descriptor = process.env[variable];
  // Child processes do not inherit the pipe.
  delete process.env[variable];
  if (descriptor !== "3") return;
  const pipe = new Socket({ fd: Number(descriptor), readable: true, writable: false });
  pipe.on("error", () => {});
  pipe.on("close", () => process.kill(process.pid, "SIGTERM"));
  pipe.resume();
  pipe.unref();
}
