import type { BindRequest } from "../../src/tunnel/server-hooks.ts";

/** An HTTPS tunnel with everything left to the server. */
export const bindRequest: BindRequest = {
  id: "",
  proto: "https",
  hostname: "",
  subdomain: "",
  address: "",
  forwardsTo: "http://localhost:3000",
  forwardsProto: "",
  metadata: "",
  proxyProtocol: 0,
  options: {},
};
