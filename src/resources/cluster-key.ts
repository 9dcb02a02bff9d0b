import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

const secret = { required: true, secret: true, writeOnly: true, maxBytes: 4096 } as const;
const certificate = { required: true, maxBytes: 8192 } as const;

export const clusterKey = defineResource({
  name: "cluster_key",
  schemaName: "ClusterKey",
  path: "/cluster_keys",
  listKey: "cluster_keys",
  idPrefix: "clkey",
  doc: "Keys that servers with the same database share, so that every server accepts the same agents and visitors.",
  fields: {
    authority: f.string("The CA that agents trust, PEM.", certificate),
    authority_key: f.string("The CA's key, PKCS #8.", secret),
    tunnel_secret: f.string(
      "Key that proves an agent's sessions and tunnels to other servers; 32 bytes in base64.",
      secret,
    ),
    peer_authority: f.string("The CA that certifies servers to each other, PEM.", certificate),
    peer_authority_key: f.string("The CA's key, PKCS #8.", secret),
  },
  internal: true,
  unrecorded: true,
});
