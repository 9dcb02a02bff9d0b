import { f, notes } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import { oauthScope } from "../schema/login-schema.ts";
import { reachIssue } from "../lib/reach.ts";
import { defineResource } from "../schema/resource.ts";
import { exampleToken, lastUsed } from "./token-fields.ts";

const reach: StringFormat = {
  name: "service-token-reach",
  example: "app.example.com/api",
  check: reachIssue,
};

const visible: StringFormat = {
  name: "machine-name",
  example: "nightly-report",
  check: (text) => (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? undefined : "be visible ASCII"),
};

export const serviceToken = defineResource({
  name: "service_token",
  schemaName: "ServiceToken",
  path: "/service_tokens",
  listKey: "service_tokens",
  idPrefix: "svctok",
  doc: "A token with which a machine passes the logins of routes, without a person. Routes admit it only if their login has `machine_clients`.",
  fields: {
    ...notes,
    name: f.string("Name of the machine, which services receive.", {
      required: true,
      minBytes: 1,
      maxBytes: 64,
      format: visible,
    }),
    token: f.nullableString("The token. Returned only when it is created or rotated, null otherwise.", {
      live: true,
      example: exampleToken("postern_st"),
    }),
    token_hash: f.string("SHA-256 of the token, hexadecimal.", { internal: true }),
    acl: f.list(
      "Places that the token can reach: a host, a host with a path, or the id of a route or endpoint. `*.` covers all hosts below a name.",
      f.string("A place.", { minBytes: 1, maxBytes: 512, format: reach }),
      { required: true, unique: true, minItems: 1, maxItems: 100 },
    ),
    scopes: f.list(
      "Scopes that the token has besides the first one of each route.",
      f.string("A scope.", { minBytes: 1, maxBytes: 64, format: oauthScope }),
      { unique: true, maxItems: 20 },
    ),
    expires_at: f.timestamp("Time when the token expires; null: never."),
    ...lastUsed,
    previous_token_hash: f.string("SHA-256 of the token before the last rotation, hexadecimal.", { internal: true }),
    previous_expires_at: f.timestamp(
      "Time when the token before the last rotation expires; null if no such token is valid.",
      {
        readOnly: true,
      },
    ),
  },
  traffic: true,
  issued: true,
});
