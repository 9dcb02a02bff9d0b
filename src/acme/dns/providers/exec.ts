/**
 * A program of the operator's, run as `PROGRAM present|cleanup NAME. VALUE`. Exit code 0 is a success. It gets no secrets
 * of the server: its environment has only `PATH`.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import type { Clock } from "../../../lib/clock.ts";
import { providerProblem } from "../dns-provider.ts";
import type { ProviderKind } from "../dns-provider.ts";

const timeoutMs = 60_000;
/** Output that the log may show. The rest is dropped. */
const maxOutputBytes = 4_096;
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export const exec: ProviderKind = {
  needs: ["program"],
  takes: [],
  open({ program = "" }, clock) {
    if (!isExecutable(program)) throw new Error(`--acme-dns-program "${program}" must be an executable file`);
    return {
      present: ({ name, value }) => runProgram(program, ["present", `${name}.`, value], clock),
      cleanup: ({ name, value }) => runProgram(program, ["cleanup", `${name}.`, value], clock),
    };
  },
};

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The message names only the exit code. The program's output is in the cause, for the log. */
function runProgram(program: string, words: readonly string[], clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    // In a new process group, so that a script's children end with the script.
    const child = spawn(program, words, { env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"], detached: true });
    let output = "";
    let isLate = false;
    const endGroup = (): void => {
      try {
        process.kill(-(child.pid as number), "SIGKILL");
      } catch {
        // The group has ended.
      }
    };
    const timer = clock.after(timeoutMs, () => {
      isLate = true;
      endGroup();
      settle(`did not end within ${timeoutMs / 1000} s`);
    });
    const settle = (fault: string | undefined, cause: unknown = output.trim()): void => {
      timer.cancel();
      if (fault === undefined) resolve();
      else reject(providerProblem(`the DNS program (--acme-dns-program ${words[0]}) ${fault}`, { cause }));
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes: Buffer) => {
        if (output.length < maxOutputBytes) output += bytes.toString("utf8").slice(0, maxOutputBytes - output.length);
      });
    }
    child.on("error", (error) => settle("could not start", error));
    child.on("exit", (code, signal) => {
      // A child that the program left behind would keep the pipes open.
      endGroup();
      if (isLate) return;
      settle(code === 0 ? undefined : `ended with ${code === null ? `signal ${signal}` : `exit code ${code}`}`);
    });
  });
}
