import { defineError } from "./entry.ts";

/** Errors in configuration. */
export const configurationErrors = {
  // 400–449: domains and hostports
  hostport_invalid: defineError(448, 400, "The hostport is not a host and a port.", "Write `name.example.com:443`."),
  domain_invalid: defineError(
    449,
    400,
    "The domain is not a valid host name.",
    "Write `app.example.com` or `*.example.com`.",
  ),
  domain_held: defineError(
    413,
    409,
    "The domain is already reserved.",
    "Choose another domain. If your account holds the domain, `details` names the holder.",
  ),
  domain_public: defineError(
    414,
    409,
    "The domain is a public suffix: many owners have names below it.",
    "Use a name below it, or ask the operator to allow the suffix with `--allow-public-suffix`.",
  ),
  domain_unproven: defineError(
    415,
    403,
    "This server requires proof that you own the domain.",
    "Reserve the domain and set the TXT record in `ownership` or `details`, or ask the operator to grant the domain.",
  ),
  domain_unreserved: defineError(
    412,
    400,
    "This server requires that you reserve the domain first.",
    "Reserve the domain with `POST /reserved_domains`.",
  ),
  port_outside: defineError(
    728,
    403,
    "This server does not offer this port to accounts.",
    "Choose a port in the range, or let `POST /reserved_addrs` choose one. The operator can extend `--tcp-ports`, or use an operator's key.",
  ),
  hostport_held: defineError(
    722,
    409,
    "Another object holds this hostport.",
    "Choose another hostport. If your account holds it, `details` names the holder.",
  ),
  // 600s: credentials
  acl_invalid: defineError(
    600,
    400,
    "The server cannot parse an ACL rule.",
    "Write `*` or `bind:<domain | host:port | key=value>`.",
  ),
  // 820s: endpoints
  endpoint_fixed: defineError(
    821,
    409,
    "The endpoint belongs to an agent or an edge, so you cannot change it directly.",
    "Stop the agent, or change the edge.",
  ),
  binding_unsupported: defineError(
    822,
    400,
    "This server does not have the endpoint's binding.",
    "Use `public`, or `internal` for a host that ends in `.internal`.",
  ),
  endpoint_url_invalid: defineError(
    823,
    400,
    "This server cannot serve the endpoint's URL.",
    "Write `https://app.example.com`, `tls://db.example.com` or `tcp://example.com:20000`.",
  ),
  // 1400s: IP policies
  cidr_invalid: defineError(
    1409,
    400,
    "The CIDR does not start at the lowest address of its network.",
    "Write `192.0.2.0/24`, or use `/32` or `/128` for one address.",
  ),
  cidr_duplicate: defineError(1408, 409, "The policy already has a rule for this CIDR.", "Change the existing rule."),
  in_use: defineError(
    1420,
    409,
    "Another object refers to this object.",
    "Remove the reference first. `details` names the object that refers to this one.",
  ),
  restriction_exists: defineError(
    1802,
    409,
    "The account already has a restriction of this type.",
    "Change the existing restriction.",
  ),
  restriction_shuts_out: defineError(
    1805,
    400,
    "The restriction would block your own address.",
    "First add a rule that allows your address.",
  ),
  // 1900s: certificates
  certificate_invalid: defineError(
    1910,
    400,
    "The certificate or its key is invalid.",
    "Send unencrypted PEM: the certificate first, then its chain in order. `details` has the reason.",
  ),
  // 4100s: users
  ssh_key_invalid: defineError(
    9191,
    400,
    "The text is not an SSH public key that the server supports.",
    "Send the content of a `.pub` file. Supported are Ed25519, ECDSA, security keys, and RSA from 2,048 bits.",
  ),
  ssh_key_taken: defineError(
    9192,
    409,
    "The SSH key is already in use on this server.",
    "Use another key, or delete the object that has it. A key belongs to one account.",
  ),
  name_taken: defineError(4112, 409, "The account already uses this name.", "Pick another."),
  // 6500s: backends
  backend_nesting: defineError(
    6513,
    400,
    "Backends refer to each other in a circle, or too deeply.",
    "Remove the member that leads back to the same backend.",
  ),
  address_forbidden: defineError(
    6526,
    400,
    "The server does not send requests to this address.",
    "Use another address, or ask the operator to allow local addresses with --allow-local-upstreams.",
  ),
  backend_needs_http: defineError(
    6525,
    400,
    "A TLS or TCP edge cannot use a fixed HTTP response.",
    "Use a tunnel or address backend, or an HTTPS edge.",
  ),
  backend_empty: defineError(
    6515,
    503,
    "No tunnel for this address is online.",
    "Start an agent with the backend's labels.",
  ),
  labels_invalid: defineError(
    6508,
    400,
    "The labels are invalid.",
    "Set 1 to 32 labels with non-empty names and values without `=`.",
  ),
  // 7000s: edges
  // Same as for an object in the path (semantics, "Statuses and errors", security P1), even in another account.
  reference_unknown: defineError(
    7007,
    404,
    "The request refers to an object that does not exist.",
    "Correct the field that `details` names.",
  ),
  match_invalid: defineError(
    7131,
    400,
    "A route's match must be a path, a host of its edge, or a host and a path.",
    "Write `/`, `/api`, `app.example.com` or `app.example.com/api`. The path must be in normalized form.",
  ),
  module_needs_termination: defineError(
    7062,
    400,
    "The module works only if the edge terminates TLS.",
    "Remove the module, or set `terminate_at` to `edge`.",
  ),
  login_exclusive: defineError(
    7079,
    400,
    "A route can have only one login module.",
    "Set the other login modules to null in the same request.",
  ),
  route_exists: defineError(7126, 409, "The edge already has a route for this match.", "Change the existing route."),
  module_unset: defineError(7125, 404, "The route does not have this module.", "Set the module with `PUT`."),
};
