/** Keys that all nodes share. The first node seals them in the database, and joining nodes read them. */
import type { Clock } from "../../lib/clock.ts";
import { createAuthority } from "../../lib/certificates/x509.ts";
import type { KeyedCertificate } from "../../lib/certificates/x509.ts";
import { clusterKey } from "../../resources/cluster-key.ts";
import { docOf } from "../../schema/doc.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { systemWrite } from "../operation/system-write.ts";

/** Keys of one server's data directory, or of all servers that share a database. */
export interface ServerKeys {
  /** Agents identify the server by this authority. */
  readonly authority: KeyedCertificate;
  /** 32 bytes. */
  readonly tunnelSecret: Uint8Array;
}

export interface SharedKeys extends ServerKeys {
  /** Authority for certificates between nodes only. */
  readonly peerAuthority: KeyedCertificate;
}

const kinds: ReadonlySet<string> = new Set([clusterKey.name]);
const peerAuthorityDays = 20 * 365;

/** @param own keys of this server; if the database has none, all nodes use them */
export async function shareKeys(store: Store, own: ServerKeys, clock: Clock): Promise<SharedKeys> {
  const [owner] = store.accounts();
  if (!owner) throw new Error("share keys with other nodes: there is no account");
  if (!firstObject(store.objects(kinds))) {
    const peer = await createAuthority({
      commonName: "Postern nodes",
      now: clock.now(),
      days: peerAuthorityDays,
      pathLength: 0,
    });
    await store.write(systemWrite(owner.id, "shareKeys", clock), (draft) => {
      // Another node may have stored keys first.
      if (draft.page(owner.id, clusterKey.name, { limit: 1 }).objects.length > 0) return;
      draft.create(owner.id, clusterKey.name, {
        authority: own.authority.certificatePem,
        authority_key: own.authority.keyPem,
        tunnel_secret: Buffer.from(own.tunnelSecret).toString("base64"),
        peer_authority: peer.certificatePem,
        peer_authority_key: peer.keyPem,
      });
    });
  }
  const shared = firstObject(store.objects(kinds));
  if (!shared) throw new Error("share keys with other nodes: they are not in the database");
  return keysOf(shared);
}

function firstObject(objects: Iterable<StoredObject>): StoredObject | undefined {
  for (const object of objects) return object;
  return undefined;
}

function keysOf(object: StoredObject): SharedKeys {
  const { authority, authority_key, tunnel_secret, peer_authority, peer_authority_key } = docOf(object, clusterKey);
  return {
    authority: { certificatePem: authority, keyPem: authority_key },
    tunnelSecret: Buffer.from(tunnel_secret, "base64"),
    peerAuthority: { certificatePem: peer_authority, keyPem: peer_authority_key },
  };
}
