import { f, notes } from "../schema/fields.ts";
import { emailAddress } from "../schema/formats.ts";
import { defineResource } from "../schema/resource.ts";

/** Claim space for people, by their email address. */
export const personEmailSpace = "person email";
/** Claim space for people, by the hash of their subject at the identity provider. */
export const personSubjectSpace = "person subject";

/** What people may do, from the least to the most. */
export const roles = ["viewer", "editor", "admin", "operator"] as const;
export type Role = (typeof roles)[number];

/** Documentation of a role field. */
export const roleDoc =
  "`viewer` reads, `editor` also changes objects, `admin` also sees secrets and manages keys and people, `operator` also manages accounts. Only operators can give this role.";

export const person = defineResource({
  name: "person",
  schemaName: "Person",
  path: "/people",
  listKey: "people",
  idPrefix: "psn",
  doc: "Someone who uses the console. An accepted invitation creates the person. Deleting the person ends their sessions immediately.",
  fields: {
    ...notes,
    email: f.string("Email address; unique in the account.", {
      required: true,
      immutable: true,
      format: emailAddress,
    }),
    name: f.string("Name, as the person wrote it."),
    role: f.oneOf(roleDoc, roles, { default: "viewer" }),
    active: f.boolean("Whether the person can log in. Setting it to false ends the person's sessions.", {
      default: true,
    }),
    last_login_at: f.timestamp("Time of the last login; null: never.", { readOnly: true }),
    subject: f.string("The person's subject at the identity provider, if the invitation was accepted there.", {
      internal: true,
    }),
  },
  operations: ["get", "list", "update", "delete"],
  issued: true,
  refusals: ["operator_only"],
  claims: ({ email, subject }) => [
    ...(email === "" ? [] : [{ space: personEmailSpace, name: email, at: "email" }]),
    ...(subject === "" ? [] : [{ space: personSubjectSpace, name: subject }]),
  ],
  taken: "name_taken",
});
