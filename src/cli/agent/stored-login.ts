/** Stores a server in the agent file: its address, its CA and the token. */
import { dirname, join } from "node:path";
import type { ServerAddress } from "../../agent/connect.ts";
import { renderAddress } from "../../agent/join.ts";
import { readAgentText, withKey, writeAgentFile } from "../agent-files/edit.ts";
import type { StoredKey } from "../agent-files/edit.ts";
import { readAgentFiles } from "../agent-files/read-agent-files.ts";
import { failOnError } from "../process/exit.ts";

/**
 * Sets the server in the file at `path` and keeps the rest of the file unchanged.
 * @param ca PEM, stored beside the file; undefined: the system's CAs
 */
export function storeLogin(path: string, address: ServerAddress, ca: string | undefined, token: string): void {
  const caFile = `${address.host.replaceAll(":", "-")}.pem`;
  if (ca !== undefined) writeAgentFile(join(dirname(path), caFile), ca);
  // `system` prevents use of the CA of a server on this machine.
  const values = { server: renderAddress(address), authtoken: token, ca: ca === undefined ? "system" : caFile };
  let content = readAgentText(path);
  const format = content === "" ? "own" : (readAgentFiles([path]).formats[0]?.[1] ?? "own");
  for (const [key, value] of Object.entries(values)) {
    // The keyword of ngrok's files.
    const written = key === "ca" && value === "system" && format !== "own" ? "host" : value;
    content = failOnError(`"${path}"`, () => withKey(content, format, key as StoredKey, written));
  }
  writeAgentFile(path, content);
}
