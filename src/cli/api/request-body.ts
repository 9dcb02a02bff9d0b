/** The body of one request, as `--data` names it: a JSON text, `@FILE`, or `@-` for the standard input. */
import { readFileSync } from "node:fs";
import { Failure } from "../process/exit.ts";

/** Most that a body may hold, in bytes; the API takes less. */
const maxBodyBytes = 16_777_216;

/** The object that `given` holds. Throws `Failure` (usage). */
export async function readBody(given: string | undefined): Promise<Record<string, unknown>> {
  if (given === undefined) return {};
  const isFile = given.startsWith("@");
  const text = isFile ? readText(given.slice(1)) : given;
  const content = /\.ya?ml$/.test(given) && isFile ? await parseYaml(text, given) : parseJson(text, isFile);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new Failure("usage", "--data must hold one object");
  }
  return content as Record<string, unknown>;
}

function readText(path: string): string {
  try {
    const bytes = readFileSync(path === "-" ? 0 : path);
    if (bytes.length > maxBodyBytes) throw new Error(`it is larger than ${maxBodyBytes} bytes`);
    return bytes.toString("utf8");
  } catch (error) {
    throw new Failure("usage", `--data: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

function parseJson(text: string, isFile: boolean): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    // The other commands' --data is the directory with everything that is kept.
    const hint = isFile ? (error as Error).message : "write JSON, @FILE or @-; the data directory is --data-dir here";
    throw new Failure("usage", `--data is not JSON: ${hint}`, { cause: error });
  }
}

async function parseYaml(text: string, given: string): Promise<unknown> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  const fault = document.errors[0];
  if (fault) throw new Failure("usage", `--data: "${given.slice(1)}" is not YAML: ${fault.message.split("\n")[0]}`);
  return document.toJS({ maxAliasCount: 0 }) as unknown;
}
