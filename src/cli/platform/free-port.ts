/** Finds a port for a listener without a configured address: the default port, or the next free one. */
import { createServer } from "node:net";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import type { Setting } from "../../settings/setting.ts";

/** Maximum number of ports that are tried. */
const maxTries = 100;

/**
 * Returns the address to listen on for `setting` with the value `address`. A configured address is used unchanged.
 * Otherwise the first free port from the default up is used. If another program takes the port first, listening fails
 * with an error.
 */
export async function withFreePort(setting: Setting<ListenAddress>, address: ListenAddress): Promise<ListenAddress> {
  // A configured value is a separate object, even if it equals the default.
  if (address !== setting.read(undefined)) return address;
  for (let port = address.port; port < address.port + maxTries; port += 1) {
    if (!(await isTaken({ ...address, port }))) return { ...address, port };
  }
  return address;
}

/** Whether the port is in use. Other failures are left to the real listener. */
function isTaken({ host, port }: ListenAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "EADDRINUSE"));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}
