import { hostname, networkInterfaces } from "node:os";

const hostForm = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
const maxAddresses = 64;

/** Names and addresses by which this machine is reached from itself and its networks. */
export function machineNames(): readonly string[] {
  const name = hostname().toLowerCase();
  const addresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  return [
    "localhost",
    ...(hostForm.test(name) ? [name] : []),
    ...addresses.filter((address) => !address.includes("%")).slice(0, maxAddresses),
  ];
}
