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
  doc: "What servers that share a database have in common, so that agents and visitors find the same at each.",
  fields: {
    authority: f.string("The authority that agents trust, PEM.", certificate),
    authority_key: f.string("Its key, PKCS #8.", secret),
    tunnel_secret: f.string("Proves to a server the sessions and tunnels of an agent; 32 bytes in base64.", secret),
    peer_authority: f.string("The authority that certifies servers to one another, PEM.", certificate),
    peer_authority_key: f.string("Its key, PKCS #8.", secret),
  },
  internal: true,
  unrecorded: true,
});
