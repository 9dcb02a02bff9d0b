/** The single executables, in an empty directory with an empty home, and no Node in `PATH`. */
import assert from "node:assert/strict";
import { existsSync, rmSync, statSync } from "node:fs";
import { after, describe, it } from "node:test";
import { executablePath } from "../../scripts/release/paths.ts";
import { findExecutable } from "../support/programs.ts";
import { built, emptyPlace, output } from "./artifacts.ts";
import { firstRun } from "./first-run.ts";

/** An emulator needs longer than a test may usually take. */
const emulatedMs = 120_000;

describe("the single executable", () => {
  const { folder, home, cwd } = emptyPlace();
  const env = { HOME: home, PATH: "/nonexistent" };
  after(() => rmSync(folder, { recursive: true }));

  for (const platform of ["linux-x64", "linux-arm64"] as const) {
    it(`of ${platform} takes at most 45 MB compressed`, () => {
      assert(statSync(built(`${executablePath(platform)}.xz`)).size < 45_000_000);
    });
  }

  it("prints its version without Node", () => {
    const shown = output(built(executablePath("linux-x64")), ["version", "--json"], { cwd, env });
    assert.match((JSON.parse(shown) as { commit: string }).commit, /^[0-9a-f]{40}$/);
  });

  it("lists the operations of the API, which it reads from its own file", () => {
    assert.match(output(executablePath("linux-x64"), ["api", "--help"], { cwd, env }), /edges/);
  });

  it("publishes a service in an empty directory", () => firstRun({ command: [executablePath("linux-x64")], env, cwd }));

  const emulator = findExecutable(["qemu-aarch64-static"]);
  const libraries = "/usr/aarch64-linux-gnu";
  const needed = "qemu-user-static libstdc++6-arm64-cross libatomic1-arm64-cross";
  const isReady = emulator !== undefined && existsSync(`${libraries}/lib/libatomic.so.1`);
  const skip = isReady ? false : `needs an emulator with libraries (apt-get install ${needed})`;
  it("of linux-arm64 prints its version in an emulator", { skip, timeout: emulatedMs }, () => {
    const words = ["-L", libraries, built(executablePath("linux-arm64")), "version"];
    assert.match(output(emulator ?? "", words, { cwd, env }), /linux-arm64/);
  });
});
