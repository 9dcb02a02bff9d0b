import { defineResource } from "../schema/resource.ts";
import { sshKeyDoc, sshKeyFields } from "./ssh-key-fields.ts";

export const sshCertificateAuthority = defineResource({
  name: "ssh_certificate_authority",
  schemaName: "SSHCertificateAuthority",
  path: "/ssh_certificate_authorities",
  listKey: "ssh_certificate_authorities",
  idPrefix: "sshca",
  doc: "A key that signs the certificates of SSH clients. Each client with a valid user certificate publishes services in the account. The user name of its login must be a principal of the certificate.",
  fields: sshKeyFields,
  traffic: true,
  claims: ({ fingerprint }) => [{ space: "ssh_authority", name: fingerprint, global: true, at: "public_key" }],
  taken: "ssh_key_taken",
  refusals: ["ssh_key_invalid"],
  derive: sshKeyDoc,
});
