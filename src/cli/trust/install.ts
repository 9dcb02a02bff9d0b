/** Runs the commands that add a CA to this machine's trust stores or remove it. Prints each command before it runs. */
import { spawnSync } from "node:child_process";
import { toVisibleLine } from "../../lib/visible-text.ts";
import type { TrustStore, Words } from "./stores.ts";

export interface TrustOutcome {
  readonly store: string;
  readonly outcome: "done" | "skipped" | "failed";
  /** Why the store was skipped or failed. */
  readonly reason?: string;
}

/** The commands as they will run: with `sudo` where root is needed and this user is not root. */
export function commandsOf({ commands, needsRoot }: TrustStore, isRoot: boolean): readonly Words[] {
  return needsRoot && !isRoot ? commands.map((words): Words => ["sudo", ...words]) : commands;
}

/** Lines that show each store with its commands. */
export function renderStores(stores: readonly TrustStore[], isRoot: boolean): string {
  const lines = stores.flatMap((store) =>
    store.missing === undefined
      ? [`${store.name}:`, ...commandsOf(store, isRoot).map((words) => `  ${words.join(" ")}`)]
      : [`${store.name}: skipped, because this machine has no ${store.missing}`],
  );
  return `${lines.join("\n")}\n`;
}

/** @param run runs one command; returns an error message if it fails */
export function changeStores(stores: readonly TrustStore[], isRoot: boolean, run = runCommand): TrustOutcome[] {
  return stores.map((store) => {
    if (store.missing !== undefined) {
      return { store: store.name, outcome: "skipped", reason: `this machine has no ${store.missing}` };
    }
    for (const words of commandsOf(store, isRoot)) {
      const reason = run(words);
      if (reason !== undefined) return { store: store.name, outcome: "failed", reason };
    }
    return { store: store.name, outcome: "done" };
  });
}

function runCommand([program, ...words]: Words): string | undefined {
  // sudo asks for the password on the terminal.
  const { error, status, stderr } = spawnSync(program, words, {
    encoding: "utf8",
    stdio: ["inherit", "ignore", "pipe"],
  });
  if (error) return `cannot run ${program}: ${error.message}`;
  return status === 0 ? undefined : `${program} exited with ${status}: ${toVisibleLine(stderr.trim())}`;
}
