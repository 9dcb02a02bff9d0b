import { dataFiles, readPublic, readSecret, removeFile, writeWhole } from "./data-files.ts";

/** Where the server of a data directory can be reached, for the other commands on the same machine. */
export interface LocalServer {
  readonly apiUrl: string;
  /** `host:port` of the agent listener. */
  readonly agentAddress: string;
  /** Where visitors come back to from their logins, such as `https://idp.localhost:8443`. */
  readonly idpUrl: string;
  /** Where HTTPS is listened on. */
  readonly httpsPort: number;
  /** OpenID issuers that routes may name wherever they are. */
  readonly loginIssuers: readonly string[];
  readonly pid: number;
}

export function announceServer(directory: string, server: LocalServer): void {
  writeWhole(directory, dataFiles.server, JSON.stringify(server), 0o644);
}

export function withdrawServer(directory: string): void {
  removeFile(directory, dataFiles.server);
}

/** The running server of `directory`; undefined when there is none. */
export function findServer(directory: string): LocalServer | undefined {
  const content = readPublic(directory, dataFiles.server);
  if (content === undefined) return undefined;
  try {
    const server = JSON.parse(content) as LocalServer;
    process.kill(server.pid, 0);
    return server;
  } catch (error) {
    // Alive, but somebody else's.
    return (error as NodeJS.ErrnoException).code === "EPERM" ? (JSON.parse(content) as LocalServer) : undefined;
  }
}

export function localAuthtoken(directory: string): string | undefined {
  return readSecret(directory, dataFiles.authtoken);
}

export function localApiKey(directory: string): string | undefined {
  return readSecret(directory, dataFiles.apiKey);
}
