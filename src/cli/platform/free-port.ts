/** A port for a listener whose address nobody chose: the usual one, or the next that is free. */
import { createServer } from "node:net";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import type { Setting } from "../../settings/setting.ts";

/** Ports that are tried. */
const maxTries = 100;

/**
 * The address to listen on by `setting`, whose value is `given`: one that somebody chose as it is, else the first
 * free port from the default up. Somebody may still be faster: then listening fails, and says so.
 */
export async function withFreePort(setting: Setting<ListenAddress>, given: ListenAddress): Promise<ListenAddress> {
  // A value that was written down is an object of its own, also where it says the same.
  if (given !== setting.read(undefined)) return given;
  for (let port = given.port; port < given.port + maxTries; port += 1) {
    if (!(await isTaken({ ...given, port }))) return { ...given, port };
  }
  return given;
}

/** Whether listening there fails because of somebody else; another failure is left to who listens in earnest. */
function isTaken({ host, port }: ListenAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE"));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}
