import { entry } from "./entry.ts";

/** What configuration cannot be. */
export const configurationErrors = {
  // 400–449: domains and hostports
  hostport_invalid: entry(448, 400, "The hostport is not a host and a port.", "Write `name.example.com:443`."),
  domain_invalid: entry(449, 400, "The domain is not a host name.", "Write `app.example.com` or `*.example.com`."),
  domain_held: entry(
    413,
    409,
    "The domain is reserved already.",
    "`details` names the holder, where it is yours; else pick another domain.",
  ),
  domain_public: entry(
    414,
    409,
    "The domain is a public suffix, below which names are of many owners.",
    "Take a name below it; the operator may allow this one with `--allow-public-suffix`.",
  ),
  domain_unproven: entry(
    415,
    403,
    "The domain is not proven to be yours, and this server wants that.",
    "Reserve it and set the TXT record that `ownership` or `details` names, or ask the operator to grant it.",
  ),
  domain_unreserved: entry(
    412,
    400,
    "The domain is not reserved, and this server wants it to be.",
    "Reserve it with `POST /reserved_domains` first.",
  ),
  port_outside: entry(
    728,
    403,
    "The port is not one that this server offers to accounts.",
    "Choose a port of the range, or let `POST /reserved_addrs` choose one. The operator can widen `--tcp-ports`, or use an operator's key.",
  ),
  hostport_held: entry(
    722,
    409,
    "Another object holds this hostport.",
    "`details` names the holder, where it is yours.",
  ),
  // 600s: credentials
  acl_invalid: entry(600, 400, "An ACL rule cannot be read.", "Write `*` or `bind:<domain | host:port | key=value>`."),
  // 820s: endpoints
  endpoint_fixed: entry(
    821,
    409,
    "The endpoint follows from an agent or an edge and cannot be changed by itself.",
    "Stop the agent, or change the edge.",
  ),
  binding_unsupported: entry(
    822,
    400,
    "The endpoint's binding is not one of this server.",
    "Use `public`, or `internal` for a host that ends in `.internal`.",
  ),
  endpoint_url_invalid: entry(
    823,
    400,
    "The endpoint's URL cannot be served.",
    "Write `https://app.example.com`, `tls://db.example.com` or `tcp://example.com:20000`.",
  ),
  // 1400s: IP policies
  cidr_invalid: entry(
    1409,
    400,
    "The CIDR is not a network in its lowest address.",
    "Write `192.0.2.0/24`, or `/32` and `/128` for one address.",
  ),
  cidr_duplicate: entry(1408, 409, "The policy has a rule for this CIDR already.", "Change that rule instead."),
  in_use: entry(
    1420,
    409,
    "The object is still referred to.",
    "`details` names the referrer; remove the reference first.",
  ),
  restriction_exists: entry(1802, 409, "The account has a restriction of this type already.", "Change that one."),
  restriction_shuts_out: entry(
    1805,
    400,
    "The restriction would refuse the caller who makes it.",
    "Add a rule that allows your own address first.",
  ),
  // 1900s: certificates
  certificate_invalid: entry(
    1910,
    400,
    "The certificate or its key cannot be used.",
    "`details` says why; send unencrypted PEM, the certificate first and its chain in order.",
  ),
  // 4100s: users
  name_taken: entry(4112, 409, "The name is taken in this account.", "Pick another."),
  // 6500s: backends
  backend_nesting: entry(
    6513,
    400,
    "Backends of backends go in a circle, or too deep.",
    "Give each backend members that do not lead back to it.",
  ),
  address_forbidden: entry(
    6526,
    400,
    "Nothing is sent to this address.",
    "Name another one; the operator can allow local addresses with --allow-local-upstreams.",
  ),
  backend_needs_http: entry(
    6525,
    400,
    "A fixed HTTP response cannot answer the connections of a TLS or TCP edge.",
    "Use backends of tunnels or addresses there, or an HTTPS edge.",
  ),
  backend_empty: entry(
    6515,
    503,
    "No tunnel is online behind this address.",
    "Start an agent with the backend's labels.",
  ),
  labels_invalid: entry(
    6508,
    400,
    "The labels cannot be used.",
    "Give 1 to 32 labels of non-empty names and values without `=`.",
  ),
  // 7000s: edges
  // As for an object in the path (semantics, "Statuses and errors", security P1): also where it is another account's.
  reference_unknown: entry(
    7007,
    404,
    "An object that the request refers to does not exist.",
    "`details` names the field.",
  ),
  match_invalid: entry(
    7131,
    400,
    "A route's match must be a path, a host of its edge, or such a host and a path.",
    "Write `/`, `/api`, `app.example.com` or `app.example.com/api`, and the path in a form that requests can have.",
  ),
  module_needs_termination: entry(
    7062,
    400,
    "The module needs TLS to be terminated at the edge.",
    "Remove the module, or set `terminate_at` to `edge`.",
  ),
  login_exclusive: entry(
    7079,
    400,
    "A route can have one login module.",
    "Set the others to null in the same request.",
  ),
  route_exists: entry(7126, 409, "The edge has a route for this match already.", "Change that route instead."),
  module_unset: entry(7125, 404, "The module is not set here.", "`PUT` sets it."),
};
