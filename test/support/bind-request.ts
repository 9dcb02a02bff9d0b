import type { BindRequest } from "../../src/tunnel/server-hooks.ts";

/** Request for an HTTPS tunnel with default options. */
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
