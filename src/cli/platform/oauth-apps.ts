/** The server's own apps at OAuth providers, as the operator's file names them: provider → client and where it is. */
import { readFileSync, statSync } from "node:fs";
import type { ManagedApp } from "../../identity/settings.ts";
import { oauthProviders } from "../../identity/oauth/providers.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import { JsonIssue } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { Failure } from "../process/exit.ts";

const members = new Set(["client_id", "client_secret", "base_url", "graph_version"]);
const maxTextLength = 2048;

/** Throws `Failure` (usage) with what is wrong; never repeats a secret. */
export function readOAuthApps(file: string): Readonly<Record<string, ManagedApp>> {
  const wrong = (why: string, cause?: unknown): Failure =>
    new Failure("usage", `--oauth-apps "${file}" cannot be used: ${why}`, { cause });
  let text: string;
  try {
    text = readFileSync(file, "utf8");
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
      throw new Error("others may read it; chmod 600 it, because it holds secrets");
    }
  } catch (error) {
    throw wrong((error as Error).message, error);
  }
  let value: JsonObject;
  try {
    value = parseYamlObject(text);
  } catch (error) {
    throw wrong(error instanceof JsonIssue ? `it ${error.message}` : "it is not YAML");
  }
  return Object.fromEntries(Object.entries(value).map(([name, app]) => [name, appOf(name, app, wrong)]));
}

function appOf(name: string, app: unknown, wrong: (why: string) => Failure): ManagedApp {
  if (!oauthProviders.has(name))
    throw wrong(`there is no provider "${name}": ${[...oauthProviders.keys()].join(", ")}`);
  if (!isObject(app)) throw wrong(`"${name}" must have members`);
  const unknown = Object.keys(app).find((key) => !members.has(key));
  if (unknown !== undefined) throw wrong(`"${name}" has "${unknown}", which is none of ${[...members].join(", ")}`);
  const text = (key: string): string => {
    const given = app[key] ?? "";
    if (typeof given === "string" && given.length <= maxTextLength && /^[\x21-\x7e]*$/.test(given)) return given;
    throw wrong(`"${key}" of "${name}" must be visible ASCII without spaces, in quotes where it is a number`);
  };
  const [clientId, clientSecret, baseUrl] = [text("client_id"), text("client_secret"), text("base_url")];
  if ((clientId === "") !== (clientSecret === "")) throw wrong(`client_id and client_secret of "${name}" go together`);
  if (baseUrl !== "" && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? ""))
    throw wrong(`base_url of "${name}" is no URL`);
  const graphVersion = text("graph_version");
  if (graphVersion !== "" && !/^v\d{1,3}\.\d{1,2}$/.test(graphVersion))
    throw wrong(`graph_version of "${name}" is none like v21.0`);
  return { clientId, clientSecret, baseUrl, graphVersion };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
