import { createInterface } from "node:readline/promises";

/** Asks a question on the terminal. Every reply except "y" or "yes" means no. */
export async function askToConfirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
