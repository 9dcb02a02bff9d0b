/** The single executables, in an empty directory with an empty home, and no Node in `PATH`. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { downloadPath } from "../../scripts/release/executable.ts";
import { executablePath, linuxPlatforms, otherPlatforms } from "../../scripts/release/paths.ts";
import { findExecutable } from "../support/programs.ts";
import { built, emptyPlace, output, skipWithoutPackaging } from "./artifacts.ts";
import { firstRun } from "./first-run.ts";
import { checkThreads } from "./threads.ts";

/** An emulator needs more time than the usual limit of a test. */
const emulatedMs = 240_000;

describe("the single executable", () => {
  const { folder, home, cwd } = emptyPlace();
  const env = { HOME: home, PATH: "/nonexistent" };
  after(() => rmSync(folder, { recursive: true }));

  for (const platform of [...linuxPlatforms, ...otherPlatforms]) {
    it(`the single executable of ${platform} takes at most 45 MB compressed`, () => {
      assert(statSync(built(downloadPath(platform))).size < 45_000_000);
    });
  }

  it("the single executable prints its version without Node", () => {
    const shown = output(built(executablePath("linux-x64")), ["version", "--json"], { cwd, env });
    assert.match((JSON.parse(shown) as { commit: string }).commit, /^[0-9a-f]{40}$/);
  });

  it("the single executable lists the operations of the API, which it reads from its own file", () => {
    assert.match(output(executablePath("linux-x64"), ["api", "--help"], { cwd, env }), /edges/);
  });

  it("the single executable publishes a service in an empty directory", () =>
    firstRun({ command: [executablePath("linux-x64")], env, cwd }));

  it("the single executable starts all threads from inside, also when another file has replaced it", async () => {
    const program = join(folder, "postern");
    copyFileSync(built(executablePath("linux-x64")), program);
    await checkThreads({ command: [program], env, cwd }, () => {
      rmSync(program);
      writeFileSync(program, "another version");
    });
  });

  const emulator = findExecutable(["qemu-aarch64-static"]);
  const libraries = "/usr/aarch64-linux-gnu";
  const skip = existsSync(`${libraries}/lib/libatomic.so.1`)
    ? skipWithoutPackaging("qemu")
    : "needs libraries for an emulator (apt-get install qemu-user-static libstdc++6-arm64-cross libatomic1-arm64-cross)";
  it(
    "the single executable of linux-arm64 publishes a service in an emulator",
    { skip, timeout: emulatedMs },
    async () => {
      const [program, ...words] = [emulator ?? "", "-L", libraries, built(executablePath("linux-arm64"))];
      assert.match(output(program, [...words, "version"], { cwd, env }), /linux-arm64/);
      const place = emptyPlace();
      await firstRun({ command: [program, ...words], env: { ...env, HOME: place.home }, cwd: place.cwd });
      rmSync(place.folder, { recursive: true });
    },
  );
});
