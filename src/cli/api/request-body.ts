/** Reads the body of one request from `--data`: a JSON text, `@FILE`, or `@-` for standard input. */
import { readFileSync } from "node:fs";
import { Failure } from "../process/exit.ts";

/** Maximum size of a body, bytes. The API accepts less. */
const maxBodyBytes = 16_777_216;

/**
 * Returns the object in `given`. Throws `Failure` (usage).
 * @param name name of the option in messages
 */
export async function readBody(argument: string | undefined, name = "--data"): Promise<Record<string, unknown>> {
  if (argument === undefined) return {};
  const isFile = argument.startsWith("@");
  const text = isFile ? readText(argument.slice(1), name) : argument;
  const content =
    /\.ya?ml$/.test(argument) && isFile ? await parseYaml(text, argument, name) : parseJson(text, isFile, name);
  if (typeof content !== "object" || content === null || Array.isArray(content)) {
    throw new Failure("usage", `${name} must contain one object`);
  }
  return content as Record<string, unknown>;
}

function readText(path: string, name: string): string {
  try {
    const bytes = readFileSync(path === "-" ? 0 : path);
    if (bytes.length > maxBodyBytes) throw new Error(`the body is larger than ${maxBodyBytes} bytes`);
    return bytes.toString("utf8");
  } catch (error) {
    throw new Failure("usage", `${name}: cannot read "${path}": ${(error as Error).message}`, { cause: error });
  }
}

function parseJson(text: string, isFile: boolean, name: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    // For the other commands, `--data` is the data directory.
    const own = name === "--data" ? "; to set the data directory, use --data-dir" : "";
    // The parser's message would quote the document, which may contain secrets.
    const hint = isFile ? "check its commas and quotes" : `write JSON, @FILE or @-${own}`;
    throw new Failure("usage", `${name} is not JSON: ${hint}`, { cause: error });
  }
}

async function parseYaml(text: string, yaml: string, name: string): Promise<unknown> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { prettyErrors: true, uniqueKeys: true });
  const fault = document.errors[0];
  if (fault) throw new Failure("usage", `${name}: "${yaml.slice(1)}" is not YAML: ${fault.message.split("\n")[0]}`);
  return document.toJS({ maxAliasCount: 0 }) as unknown;
}
