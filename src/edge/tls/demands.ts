import type { Handshake } from "../../traffic/handshake.ts";

/** Of a server name without a site. */
export const noDemands: Handshake = Object.freeze({});

/** What of a handshake must be the same for a connection to go on under a changed configuration. */
export function sameDemands(one: Handshake, other: Handshake): boolean {
  return (
    one === other ||
    (one.minVersion === other.minVersion &&
      one.maxVersion === other.maxVersion &&
      one.clientAuthorities === other.clientAuthorities &&
      one.clientCertificates === other.clientCertificates &&
      (one.passthrough ?? false) === (other.passthrough ?? false))
  );
}
