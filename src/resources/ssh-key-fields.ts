import { f, notes } from "../schema/fields.ts";
import { aclRule } from "../schema/formats.ts";
import type { StringFormat } from "../schema/fields.ts";
import { fingerprintOf, InvalidKey, parsePublicKeyLine, publicKeyLine } from "../ssh/keys/public-key.ts";

const examplePublicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtKTJCEwyVgPZpKsR0qf5kBMK9Jc2bd4ZrfAjmgHS1n";

const publicKey: StringFormat = {
  name: "ssh-public-key",
  example: examplePublicKey,
  reason: "ssh_key_invalid",
  check(text) {
    try {
      parsePublicKeyLine(text);
      return undefined;
    } catch (error) {
      if (!(error instanceof InvalidKey)) throw error;
      return error.message.replace(/^must /, "");
    }
  },
};

/** Common fields of keys that publish over SSH. */
export const sshKeyFields = {
  ...notes,
  public_key: f.string("The public key, as in a `.pub` file. Its comment is not stored.", {
    required: true,
    immutable: true,
    maxBytes: 8_192,
    format: publicKey,
  }),
  key_type: f.string("Type of the key, such as `ssh-ed25519`.", { readOnly: true }),
  fingerprint: f.string("SHA-256 of the key, as SSH clients show it.", { readOnly: true }),
  acl: f.list(
    "Names that clients with the key can publish; empty: all.",
    f.string("`*`, or `bind:` and a domain or a `host:port`, with `*` as wildcard.", { format: aclRule }),
    { maxItems: 100 },
  ),
  owner_id: f.ref(
    "The bot user that owns the key, which works only while the bot user is active. Null: the account.",
    { to: "bot_user", input: "owner_id" },
    { bare: true, immutable: true },
  ),
} as const;

/** Returns the fields that follow from the key. */
export function sshKeyDoc({ public_key }: { readonly public_key: string }) {
  const key = parsePublicKeyLine(public_key);
  return { public_key: publicKeyLine(key), key_type: key.type, fingerprint: fingerprintOf(key.blob) };
}
