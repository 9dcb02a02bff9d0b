import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
});

/** Runs the listener in a process with at most `descriptors` open files. */
async function start(descriptors: number) {
  const script = fileURLToPath(new URL("./few-descriptors.ts", import.meta.url));
  const child: ChildProcess = spawn(
    "sh",
    ["-c", `ulimit -n ${descriptors}; exec "$0" "$1"`, process.execPath, script],
    {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    },
  );
  stops.push(() => child.kill("SIGKILL"));
  const answer = async <T>(): Promise<T> => ((await once(child, "message")) as [T])[0];
  const { port } = await answer<{ port: number }>();
  const ask = async <T>(message: object): Promise<T> => {
    const answered = answer<T>();
    child.send(message);
    return answered;
  };
  const open = async (): Promise<Socket> => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("error", () => undefined);
    stops.push(() => socket.destroy());
    await once(socket, "connect");
    return socket;
  };
  return { child, ask, open };
}

/** Whether the listener answers on `socket`; false if it closes the socket. */
async function echoes(socket: Socket): Promise<boolean> {
  if (socket.destroyed) return false;
  const closed = new Promise<boolean>((resolve) => socket.once("close", () => resolve(false)));
  const answered = new Promise<boolean>((resolve) => socket.once("data", () => resolve(true)));
  socket.write("x");
  return Promise.race([answered, closed]);
}

describe("a listener in a process that runs out of file descriptors", () => {
  it("D4: a listener in a process that runs out of file descriptors serves its connections, rejects others without spinning, and recovers", async () => {
    const { child, ask, open } = await start(128);
    const first = await open();
    assert.equal(await echoes(first), true);
    await ask({ do: "exhaust", leave: 2 });
    const others = await Promise.all(Array.from({ length: 12 }, open));
    const results = await Promise.all(others.map(echoes));
    assert.equal(results.filter(Boolean).length, 2);
    assert.equal(await echoes(first), true);
    const { utilization } = await ask<{ utilization: number }>({ do: "measure" });
    assert.ok(utilization < 0.5, `busy for ${utilization} of the time`);
    await ask({ do: "release" });
    assert.equal(await echoes(await open()), true);
    assert.equal(child.exitCode, null);
  });

  it("D4: a listener in a process that runs out of file descriptors reserves descriptors for everything else", async () => {
    const { ask, open } = await start(100);
    const sockets = await Promise.all(Array.from({ length: 90 }, open));
    const results = await Promise.all(sockets.map(echoes));
    assert.equal(results.filter(Boolean).length, 50);
    const { held } = await ask<{ held: number }>({ do: "exhaust", leave: 0 });
    assert.ok(held > 10, `only ${held} were left`);
  });
});
