import { defineResource } from "../schema/resource.ts";
import { sshKeyDoc, sshKeyFields } from "./ssh-key-fields.ts";

export const sshCredential = defineResource({
  name: "ssh_credential",
  schemaName: "SSHCredential",
  path: "/ssh_credentials",
  listKey: "ssh_credentials",
  idPrefix: "sshcr",
  doc: "A public key with which an SSH client publishes services (`ssh -R`), if the server runs with `--ssh-listen`.",
  fields: sshKeyFields,
  traffic: true,
  claims: ({ fingerprint }) => [{ space: "ssh_key", name: fingerprint, global: true, at: "public_key" }],
  taken: "ssh_key_taken",
  refusals: ["ssh_key_invalid"],
  derive: sshKeyDoc,
});
