import { checkOwned, dataFiles, readPublic, readSecret, removeFile, writeWhole } from "./data-files.ts";

/** Addresses of a data directory's server, for other commands on the same machine. */
export interface LocalServer {
  readonly apiUrl: string;
  /** `host:port` of the agent listener. */
  readonly agentAddress: string;
  /** URL to which visitors return from their logins, such as `https://idp.localhost:8443`. */
  readonly idpUrl: string;
  /** HTTPS port of the server. */
  readonly httpsPort: number;
  /** OpenID issuers that routes may use regardless of their address. */
  readonly loginIssuers: readonly string[];
  readonly pid: number;
}

export function announceServer(directory: string, server: LocalServer): void {
  writeWhole(directory, dataFiles.server, JSON.stringify(server), 0o644);
}

export function withdrawServer(directory: string): void {
  removeFile(directory, dataFiles.server);
}

/** Returns the running server of `directory`, or undefined. */
export function findServer(directory: string): LocalServer | undefined {
  const server = parseServer(readPublic(directory, dataFiles.server));
  return server && isAlive(server.pid) ? server : undefined;
}

/**
 * Returns the running server of `directory`, for a command that sends credentials to it. Throws `Failure` (usage) if
 * another user could have written its address.
 *
 * G12: the address is used only with the credentials and the CA of the same directory. A directory is found by its
 * place, and a downloaded one must not receive the caller's other credentials.
 */
export function findRunningServer(directory: string): LocalServer | undefined {
  const server = findServer(directory);
  if (server) checkOwned(directory, [dataFiles.server, dataFiles.apiKey, dataFiles.authtoken, dataFiles.caCertificate]);
  return server;
}

function parseServer(content: string | undefined): LocalServer | undefined {
  let read: Partial<LocalServer> | null;
  try {
    read = JSON.parse(content ?? "null") as Partial<LocalServer> | null;
  } catch {
    return undefined;
  }
  const { apiUrl, agentAddress, idpUrl, httpsPort, loginIssuers, pid } = read ?? {};
  const isServer =
    /^https?:$/.test(URL.parse(String(apiUrl))?.protocol ?? "") &&
    [apiUrl, agentAddress, idpUrl].every((one) => typeof one === "string") &&
    [httpsPort, pid].every((one) => Number.isSafeInteger(one) && (one as number) > 0) &&
    Array.isArray(loginIssuers) &&
    loginIssuers.every((one) => typeof one === "string");
  return isServer ? (read as LocalServer) : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function localAuthtoken(directory: string): string | undefined {
  return readSecret(directory, dataFiles.authtoken);
}

export function localApiKey(directory: string): string | undefined {
  return readSecret(directory, dataFiles.apiKey);
}
