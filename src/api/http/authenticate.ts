/**
 * Authenticates API keys by their fingerprint, with comparison in constant time. The change feed keeps the keys in
 * memory up to date.
 */
import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { fingerprintToken, hashToken, maxTokenBytes, tokenPrefix, tokenPrefixes } from "../../lib/tokens.ts";
import type { ApiPrincipal } from "../operation/call.ts";
import type { LastUses } from "../keys/last-uses.ts";
import type { Bucket } from "./rate-limit.ts";
import { readScopes } from "../operation/scope.ts";
import type { Store, StoredObject } from "../../storage/store.ts";
import { docOf } from "../../schema/doc.ts";
import { apiKey } from "../../resources/api-key.ts";
import { botUser } from "../../resources/bot-user.ts";

export interface Key {
  readonly principal: ApiPrincipal;
  readonly hash: Buffer;
  readonly ownerId: string | null;
  readonly bucket: Bucket;
}

export interface KeyRing {
  /**
   * Throws `Refusal`. Its message never contains the sent value.
   * @param connection of the request; a value that was verified on it is not hashed again
   */
  authenticate(authorization: string | undefined, connection: object): Key;
  /** Returns the key with this id while it is valid, for callers that were authenticated earlier. */
  current(keyId: string): Key | undefined;
}

const noHash = Buffer.alloc(32);

/** @param uses receives each use of a key */
export function openKeyRing(store: Store, clock: Clock, uses: Pick<LastUses, "note">): KeyRing {
  const byFingerprint = new Map<string, Key>();
  const byId = new Map<string, Key>();
  // This comparison is safe without constant time, because the client sent both texts.
  const verified = new WeakMap<object, { readonly authorization: string; readonly key: Key }>();
  const add = (object: StoredObject): void => {
    const doc = docOf(object, apiKey);
    const scope = readScopes(doc.scopes);
    const before = byId.get(object.id);
    const key: Key = {
      principal: {
        accountId: object.account_id,
        id: object.id,
        operator: doc.operator,
        ...(scope && { scope }),
        ...(doc.expires_at && { expiresAtMs: Date.parse(doc.expires_at) }),
      },
      hash: Buffer.from(doc.token_hash, "hex"),
      ownerId: doc.owner_id,
      bucket: before?.bucket ?? { wholeAtMs: 0 },
    };
    byFingerprint.set(doc.fingerprint, key);
    byId.set(object.id, key);
  };
  for (const object of store.objects(new Set([apiKey.name]))) add(object);
  store.subscribe((commit) => {
    for (const { kind, before, after } of commit.changes) {
      if (kind !== apiKey.name) continue;
      if (after) add(after);
      else if (before) {
        byFingerprint.delete(docOf(before, apiKey).fingerprint);
        byId.delete(before.id);
      }
    }
  });
  const verify = (authorization: string): Key => {
    const token = readBearer(authorization);
    if (token === undefined) throw new Refusal("malformed_credentials");
    const key = byFingerprint.get(fingerprintToken(token));
    const equal = timingSafeEqual(hashToken(token), key?.hash ?? noHash);
    if (key && equal) return key;
    const isAgents = tokenPrefix(token) === tokenPrefixes.agent;
    throw new Refusal(isAgents ? "authtoken_as_api_key" : "unknown_credentials");
  };
  /** Whether the key's owner is active and the key has not expired. */
  const isUsable = ({ ownerId, principal }: Key): boolean => {
    const owner = ownerId === null ? undefined : store.get(principal.accountId, botUser.name, ownerId);
    if (ownerId !== null && !(owner && docOf(owner, botUser).active)) return false;
    return (principal.expiresAtMs ?? Infinity) > clock.now();
  };
  return {
    authenticate(authorization, connection) {
      if (authorization === undefined) throw new Refusal("missing_credentials");
      const before = verified.get(connection);
      let key = before?.key;
      // A key that was changed or deleted meanwhile differs from the current one.
      if (!key || before?.authorization !== authorization || byId.get(key.principal.id) !== key) {
        key = verify(authorization);
        verified.set(connection, { authorization, key });
      }
      if (!isUsable(key)) throw new Refusal("unknown_credentials");
      uses.note(key.principal.accountId, key.principal.id);
      return key;
    },
    current(keyId) {
      const key = byId.get(keyId);
      if (!key || !isUsable(key)) return undefined;
      uses.note(key.principal.accountId, key.principal.id);
      return key;
    },
  };
}

/** The scheme is case-insensitive (RFC 9110 §11.1). */
function readBearer(authorization: string): string | undefined {
  if (authorization.length > maxTokenBytes + 8) return undefined;
  return /^bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
}
