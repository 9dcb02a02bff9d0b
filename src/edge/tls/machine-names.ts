import { hostname, networkInterfaces } from "node:os";

const hostForm = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const maxAddresses = 64;

/** Returns names and addresses at which this machine is reachable locally and on its networks. */
export function machineNames(): readonly string[] {
  const name = hostname().toLowerCase();
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  return [
    "localhost",
    ...(hostForm.test(name) ? [name] : []),
    ...addresses.filter((address) => !address.includes("%")).slice(0, maxAddresses),
  ];
}
