import type { Handshake } from "../../traffic/handshake.ts";

/** Demands of a server name without a site. */
export const noDemands: Handshake = Object.freeze({});

/** Whether two handshakes have equal demands, so that a connection may continue after a configuration change. */
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
