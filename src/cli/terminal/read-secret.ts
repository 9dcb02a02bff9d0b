/** Reads a secret: typed at the terminal without echo, or from redirected stdin. */
import { text } from "node:stream/consumers";

const interrupt = "\u0003";
const end = "\u0004";
const rubout = /[\b\u007F]/;
const eraseLine = "\u0015";
/** Maximum length of a secret, characters. */
const maxLength = 65_536;

/**
 * Returns the secret without surrounding white space, "" if it is empty.
 * @param prompt shown on stderr if stdin is a terminal
 */
export async function readSecret(prompt: string): Promise<string> {
  const { stdin } = process;
  return stdin.isTTY ? (await readTyped(stdin, prompt)).trim() : (await text(stdin)).trim();
}

function readTyped(input: NodeJS.ReadStream, prompt: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let held = "";
  const done = (value: string): void => {
    input.off("data", pressed);
    input.setRawMode(false);
    input.pause();
    process.stderr.write("\n");
    resolve(value);
  };
  const pressed = (bytes: Buffer): void => {
    for (const key of bytes.toString("utf8")) {
      if (key === interrupt) {
        done("");
        return void process.kill(process.pid, "SIGINT");
      }
      if (key === "\r" || key === "\n" || key === end) return done(held);
      if (rubout.test(key)) held = held.slice(0, -1);
      else if (key === eraseLine) held = "";
      else if (held.length < maxLength) held += key;
    }
  };
  process.stderr.write(prompt);
  input.setRawMode(true);
  input.resume();
  input.on("data", pressed);
  return promise;
}
