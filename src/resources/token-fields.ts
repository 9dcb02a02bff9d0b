import { f } from "../schema/fields.ts";

/** Returns an example with the form of a token of `prefix`, which grants no access. */
export function exampleToken(prefix: string): string {
  return `${prefix}_0f6yvqk3c5a9m2x7_p4r8t1w6z0b0f6yvqk3c5a9m2x7p4r8t1w6z0bx`;
}

/** Last use of a key or token. */
export const lastUsed = {
  last_used_at: f.timestamp("Time of the last use, exact to ten minutes; null if it was never used.", { live: true }),
} as const;

/** Common fields of API keys and agent tokens: shown once, stored as a hash. */
export const tokenFields = {
  token: f.nullableString("The token. Returned only when it is created, null afterwards.", {
    live: true,
    example: exampleToken("postern_ak"),
  }),
  token_hash: f.string("SHA-256 of the token, hexadecimal.", { internal: true }),
  fingerprint: f.string("Public part of the token, for lookups.", { internal: true }),
  owner_id: f.ref(
    "The bot user that owns the token, which works only while the bot user is active. Null: the account.",
    { to: "bot_user", input: "owner_id" },
    { bare: true, immutable: true },
  ),
  expires_at: f.timestamp("Time when the token and its sessions expire; null: never.", { immutable: true }),
  ...lastUsed,
} as const;

export function tokenClaims({ fingerprint }: { readonly fingerprint: string }) {
  return [{ space: "token", name: fingerprint, global: true }];
}
