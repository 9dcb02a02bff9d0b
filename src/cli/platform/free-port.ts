/** Finds a port for a listener without a configured address: the default port, or the next free one. */
import { createServer } from "node:net";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import type { Setting } from "../../settings/setting.ts";

/** Maximum number of ports that are tried. */
const maxTries = 100;

/**
 * Returns the address to listen on for `setting` with the value `given`. A configured address is used unchanged.
 * Otherwise the first free port from the default up is used. If another program takes the port first, listening fails
 * with an error.
 */
export async function withFreePort(setting: Setting<ListenAddress>, given: ListenAddress): Promise<ListenAddress> {
  // A configured value is a separate object, even if it equals the default.
  if (given !== setting.read(undefined)) return given;
  for (let port = given.port; port < given.port + maxTries; port += 1) {
    if (!(await isTaken({ ...given, port }))) return { ...given, port };
  }
  return given;
}

/** Whether the port is in use. Other failures are left to the real listener. */
function isTaken({ host, port }: ListenAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE"));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}
