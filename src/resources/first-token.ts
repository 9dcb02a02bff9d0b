import { f } from "../schema/fields.ts";
import { defineResource } from "../schema/resource.ts";

/** Claim space for first tokens, by their hash. */
export const firstTokenSpace = "first token";

export const firstToken = defineResource({
  name: "first_token",
  schemaName: "FirstToken",
  path: "/first_tokens",
  listKey: "first_tokens",
  idPrefix: "firsttok",
  doc: "A first API key or agent token that the server created at a start. The server never creates it again, even after it was deleted.",
  fields: {
    token_hash: f.string("SHA-256 of the token, in hexadecimal.", { internal: true }),
  },
  claims: ({ token_hash }) => [{ space: firstTokenSpace, name: token_hash }],
  internal: true,
  unrecorded: true,
});
