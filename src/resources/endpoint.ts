import { concealedPolicy } from "../policy/concealed-policy.ts";
import { maxPolicyBytes } from "../policy/policy-document.ts";
import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";
import { captureField } from "./capture.ts";

/** Read-only fields of every endpoint. */
export const servedFields = {
  region: f.string("The region of the endpoint."),
  public_url: f.string("Its URL.", { maxBytes: 2048 }),
  proto: f.string("Protocol."),
  scheme: f.string("Scheme of the URL."),
  hostport: f.string("Host and port.", { maxBytes: 260 }),
  host: f.string("Host."),
  port: f.uint32("Port.", { example: 443 }),
  name: f.string("The endpoint's name at its agent; empty for configured endpoints."),
  domain: f.ref("The reserved domain.", { to: "reserved_domain", input: "domain" }),
  tcp_addr: f.ref("The reserved address.", { to: "reserved_addr", input: "tcp_addr" }),
  tunnel: f.ref("The tunnel that serves the endpoint.", { to: "tunnel", input: "tunnel" }),
  edge: f.ref("The edge that serves the endpoint.", { to: ["https_edge", "tls_edge", "tcp_edge"], input: "edge" }),
  tunnel_session: f.ref("The session of the tunnel.", { to: "tunnel_session", input: "tunnel_session" }),
  principal: f.ref("The owner of the agent token.", { to: "bot_user", input: "principal" }),
  upstream_url: f.string("Address to which the agent forwards.", { maxBytes: 2048 }),
  upstream_protocol: f.string("Protocol to the upstream."),
};

export const endpoint = defineResource({
  name: "endpoint",
  schemaName: "Endpoint",
  path: "/endpoints",
  listKey: "endpoints",
  idPrefix: "ep",
  doc: "An address that is online: published by an agent, an edge with an online backend, or a cloud endpoint.",
  fields: {
    created_at: f.timestamp("Time when it came online; for configured endpoints, the creation time."),
    updated_at: f.timestamp("Time of the last change."),
    url: f.string("The endpoint's URL, for newer clients.", { maxBytes: 2048 }),
    type: f.oneOf("Kind of object that serves the endpoint.", ["ephemeral", "edge", "cloud"], { default: "ephemeral" }),
    description: f.string("Description of the tunnel's endpoint, the edge or the cloud endpoint."),
    metadata: f.string("Metadata of the tunnel, edge or cloud endpoint.", { maxBytes: 4096 }),
    bindings: f.list("Visibility of the endpoint.", f.string("A binding.")),
    traffic_policy: f.string("Policy of a cloud endpoint; empty for other kinds.", {
      maxBytes: maxPolicyBytes,
      sensitive: concealedPolicy,
    }),
    pooling_enabled: f.boolean("Whether other endpoints can serve the same URL; false for an edge."),
    capture: captureField,
    ...servedFields,
  },
  operations: ["get", "list"],
  narrowedBy: ["id", "url"],
  live: true,
});
