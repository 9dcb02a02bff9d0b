/** The block `machine_clients` of a login: clients that are not browsers and get tokens for the route. */
import { f } from "../schema/fields.ts";
import type { Issue, StringFormat } from "../schema/fields.ts";
import { scopeExpression } from "./scope-rules.ts";
import { oauthScope } from "../schema/login-schema.ts";
import { redirectIssue } from "../lib/redirect-uris.ts";

const visible: StringFormat = {
  name: "oauth-client-id",
  example: "https://client.example.com/oauth/metadata.json",
  check: (text) => (/^[\x21-\x7e]+$/.test(text) ? undefined : "be visible ASCII"),
};

const redirect: StringFormat = {
  name: "oauth-redirect-uri",
  example: "https://client.example.com/callback",
  check: redirectIssue,
};

const registrations = ["metadata", "dynamic", "listed"] as const;

export interface MachineClientBlock {
  readonly enabled: boolean;
  readonly registration: readonly ("metadata" | "dynamic" | "listed")[];
  readonly client_ids: readonly string[];
  readonly redirect_uris: readonly string[];
  readonly scopes: readonly string[];
  readonly scope_rules: readonly { readonly scope: string; readonly expression: string }[];
  readonly access_token_minutes: number;
  readonly refresh_token_days: number;
  readonly consent: "always" | "once" | "never";
}

/** The block is null or absent for a login that admits browsers only. */
export const machineClientFields = {
  machine_clients: f.object(
    "OAuth 2.1 for clients that are not browsers, such as MCP clients: they get tokens for this route.",
    {
      enabled: f.boolean(
        "Whether clients can get and use tokens, and service tokens whose `acl` names the route are admitted.",
      ),
      registration: f.list(
        "How clients become known: `metadata` (the client ID is the URL of a metadata document), `dynamic` (RFC 7591) and `listed` (in `client_ids`). Empty: only service tokens are admitted.",
        f.oneOf("A way.", registrations),
        { unique: true, maxItems: 3, default: ["metadata", "dynamic"] },
      ),
      client_ids: f.list(
        "Allowed client IDs. If empty, every client that `registration` allows.",
        f.string("A client ID.", { minBytes: 1, maxBytes: 256, format: visible }),
        { unique: true, maxItems: 100 },
      ),
      redirect_uris: f.list(
        "Allowed redirect URIs, compared exactly, besides those of the client's own machine (`http://127.0.0.1`, `http://[::1]` and `http://localhost` with any port).",
        f.string("A redirect URI.", { minBytes: 1, maxBytes: 512, format: redirect }),
        { unique: true, maxItems: 100 },
      ),
      scopes: f.list(
        "Scopes that clients can request.",
        f.string("A scope.", { minBytes: 1, maxBytes: 64, format: oauthScope }),
        { unique: true, minItems: 1, maxItems: 20, default: ["access"] },
      ),
      scope_rules: f.list(
        "Requests that need a scope besides the first one of `scopes`.",
        f.object("A rule.", {
          scope: f.string("The scope, one of `scopes`.", { required: true, maxBytes: 64, format: oauthScope }),
          expression: f.string(
            "Whether a request needs the scope: an expression over `req.method`, `req.path`, `mcp.method` and `mcp.tool`. The last two are of the JSON-RPC call in the body. A body that cannot be read clearly needs the scope of every rule about them.",
            { required: true, maxBytes: 1024, format: scopeExpression },
          ),
        }),
        { maxItems: 50 },
      ),
      access_token_minutes: f.uint32("Minutes until an access token expires.", { min: 1, max: 1440, default: 60 }),
      refresh_token_days: f.uint32("Days until the client needs a new login.", { min: 1, max: 365, default: 30 }),
      consent: f.oneOf(
        "When the person confirms a client: for each login, `once` per client with an https redirect URI, or `never`, which requires `registration` to be only `listed`.",
        ["always", "once", "never"],
        { default: "once" },
      ),
    },
    { nullable: true, schemaName: "EndpointMachineClients" },
  ),
} as const;

/** Rules across the fields of the block. */
export function machineClientIssue({
  machine_clients: block,
}: {
  readonly machine_clients: MachineClientBlock | null;
}): Issue | undefined {
  if (!block) return undefined;
  const { registration, client_ids, consent, scopes, scope_rules } = block;
  const onlyListed = registration.every((one) => one === "listed");
  if (consent === "never" && !onlyListed) {
    return {
      path: "machine_clients.consent",
      message: 'must not be "never" unless registration is only "listed": any client could get a token unseen',
    };
  }
  if (registration.length > 0 && onlyListed && client_ids.length === 0) {
    return { path: "machine_clients.client_ids", message: 'must name a client, because registration is only "listed"' };
  }
  const foreign = scope_rules.findIndex((rule) => !scopes.includes(rule.scope));
  if (foreign < 0) return undefined;
  return { path: `machine_clients.scope_rules[${foreign}].scope`, message: "must be one of scopes" };
}
