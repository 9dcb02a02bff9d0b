/**
 * The server's own apps at OAuth providers, from the operator's file: provider → client and address of the provider.
 */
import { readFileSync, statSync } from "node:fs";
import { JsonIssue, isJsonObject } from "../../lib/json.ts";
import type { JsonObject } from "../../lib/json.ts";
import { parseYamlObject } from "../../lib/yaml.ts";
import type { SettingKind } from "./kind.ts";

export const oauthProviderNames = [
  "amazon",
  "facebook",
  "github",
  "gitlab",
  "google",
  "linkedin",
  "microsoft",
  "twitch",
] as const;

export type OAuthProviderName = (typeof oauthProviderNames)[number];

/** The server's own app at a provider, for routes without one. */
export interface ManagedApp {
  /** "" if only the provider's address is set. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Base URL that replaces the provider's endpoints; "" for the provider's own. */
  readonly baseUrl: string;
  /** Version of Facebook's Graph API; "" for the built-in default. */
  readonly graphVersion: string;
}

export type ManagedApps = Readonly<Partial<Record<OAuthProviderName, ManagedApp>>>;

const members = new Set(["client_id", "client_secret", "base_url", "graph_version"]);
const maxTextLength = 2048;

/** A file that only its owner may read. Its errors never repeat its content, except names. */
export const oauthApps: SettingKind<ManagedApps> = {
  placeholder: "FILE",
  parse(text) {
    const value = valueOf(text);
    return Object.fromEntries(Object.entries(value).map(([name, app]) => [name, appOf(name, app)]));
  },
};

function valueOf(file: string): JsonObject {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
      throw new Error("other users can read it and it holds secrets: run chmod 600 on it");
    }
  } catch (error) {
    throw new Error(`must be a file of OAuth apps (${(error as Error).message})`, { cause: error });
  }
  try {
    return parseYamlObject(text);
  } catch (error) {
    throw makeError(error instanceof JsonIssue ? `it ${error.message}` : "it is not YAML");
  }
}

function appOf(name: string, app: unknown): ManagedApp {
  if (!(oauthProviderNames as readonly string[]).includes(name)) {
    throw makeError(`there is no provider "${name}", use one of ${oauthProviderNames.join(", ")}`);
  }
  if (!isJsonObject(app)) throw makeError(`"${name}" must be a map of keys and values`);
  const unknown = Object.keys(app).find((key) => !members.has(key));
  if (unknown !== undefined)
    throw makeError(`"${name}" has the unknown key "${unknown}", use ${[...members].join(", ")}`);
  const text = (key: string): string => {
    const given = app[key] ?? "";
    if (typeof given === "string" && given.length <= maxTextLength && /^[\x21-\x7e]*$/.test(given)) return given;
    throw makeError(`"${key}" of "${name}" must be visible ASCII without spaces, with quotes if it is a number`);
  };
  const [clientId, clientSecret, baseUrl] = [text("client_id"), text("client_secret"), text("base_url")];
  if ((clientId === "") !== (clientSecret === ""))
    throw makeError(`set client_id and client_secret of "${name}" together`);
  if (baseUrl !== "" && !/^https?:$/.test(URL.parse(baseUrl)?.protocol ?? "")) {
    throw makeError(`base_url of "${name}" is not a URL`);
  }
  const graphVersion = text("graph_version");
  if (graphVersion !== "" && !/^v\d{1,3}\.\d{1,2}$/.test(graphVersion)) {
    throw makeError(`graph_version of "${name}" must look like v21.0`);
  }
  return { clientId, clientSecret, baseUrl, graphVersion };
}

function makeError(why: string): Error {
  return new Error(`must be a file of OAuth apps (${why})`);
}
