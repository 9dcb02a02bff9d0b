import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SdkAnswer, SdkCommand } from "./sdk-agent.ts";

export interface SdkProcess {
  /** Rejects with the SDK's error. `errorCode` is the code that the SDK derived. */
  ask(command: Omit<SdkCommand, "call">): Promise<SdkAnswer>;
  stop(): Promise<void>;
}

/**
 * Starts the public agent SDK in a separate process and directory.
 * @param env in addition to the environment of this process
 */
export async function startSdk(env: Readonly<Record<string, string>> = {}): Promise<SdkProcess> {
  const directory = await mkdtemp(join(tmpdir(), "sdk-"));
  const child = fork(new URL("sdk-agent.ts", import.meta.url), { cwd: directory, env: { ...process.env, ...env } });
  let calls = 0;
  const open = new Map<number, (answer: SdkAnswer) => void>();
  const ready = new Promise<unknown>((resolve) => open.set(0, resolve));
  child.on("message", (answer: SdkAnswer) => open.get(answer.call)?.(answer));
  await ready;
  return {
    async ask(command) {
      calls += 1;
      const call = calls;
      const answer = await new Promise<SdkAnswer>((resolve) => {
        open.set(call, resolve);
        child.send({ ...command, call });
      });
      if (answer.error) {
        throw Object.assign(new Error(answer.error.message), { errorCode: answer.error.errorCode });
      }
      return answer;
    },
    async stop() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
