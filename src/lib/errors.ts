/**
 * The one catalogue of refusals: every condition that a client, a visitor or an agent can be told of.
 * `number` is its public code `ERR_POSTERN_<number>`; numbers are never reused. The error reference is
 * generated from this table.
 */
export const catalogue = {
  // 200–249: the API's protocol
  missing_credentials: entry(
    200,
    401,
    "The request carries no credentials.",
    "Send `Authorization: Bearer <API key>`.",
  ),
  malformed_credentials: entry(
    202,
    401,
    "The Authorization header cannot be read.",
    "Send `Authorization: Bearer <API key>`.",
  ),
  unknown_credentials: entry(
    203,
    401,
    "The API key is not known, was deleted, or its owner is inactive.",
    "Use a key listed by `GET /api_keys`; `postern account create` makes a new one.",
  ),
  authtoken_as_api_key: entry(
    206,
    401,
    "An agent token was sent where an API key is needed.",
    "Agent tokens connect agents; the API takes the keys of `/api_keys`.",
  ),
  body_unreadable: entry(
    213,
    400,
    "The body is not one JSON object.",
    "Send a JSON object in UTF-8 without duplicate names.",
  ),
  unknown_field: entry(
    214,
    400,
    "The body has a field that the operation does not know.",
    "Remove it; `msg` lists the known ones.",
  ),
  invalid_field: entry(
    215,
    400,
    "A field has a value that is not allowed.",
    "`details` names each field and what is wrong with it.",
  ),
  version_missing: entry(218, 400, "The version header is missing.", "Send `Service-Version: 2`."),
  version_unsupported: entry(217, 400, "The version is not supported.", "Send `Service-Version: 2`."),
  content_type: entry(210, 415, "The body is not declared as JSON.", "Send `Content-Type: application/json`."),
  body_too_large: entry(212, 413, "The body is larger than the API takes.", "Send at most 1 MiB."),
  body_unexpected: entry(211, 400, "The operation takes no body.", "Send the request without one."),
  api_source_denied: entry(
    220,
    403,
    "The account's IP restriction does not admit your address.",
    "Call from an address that the policies of the restriction allow.",
  ),
  not_found: entry(
    222,
    404,
    "There is no such object in this account.",
    "Check the id; `GET` on the collection lists what exists.",
  ),
  unknown_path: entry(223, 404, "There is no such path.", "`/openapi.json` lists the operations."),
  method_not_allowed: entry(224, 405, "The path exists, but not with this method.", "`Allow` lists the methods."),
  too_many_requests: entry(226, 429, "The key has used up its rate.", "Wait as long as `Retry-After` says."),
  query_invalid: entry(230, 400, "A query parameter is malformed.", "`msg` names it."),
  query_unknown: entry(231, 400, "A query parameter is not known here.", "`msg` lists the known ones."),
  limit_invalid: entry(
    233,
    400,
    "`limit` is not a whole number from 1 to 100.",
    "Give one in that range, or leave it out.",
  ),
  filter_invalid: entry(
    234,
    400,
    "`filter` cannot be read, or does not fit the resource.",
    "`msg` says where; `obj.<field>`, comparisons, `&&`, `||`, `!`, `in` and functions of strings are known.",
  ),
  precondition_failed: entry(
    235,
    412,
    "The object has changed since the ETag in If-Match.",
    "Read it again and repeat the change on what it is now.",
  ),
  idempotency_reused: entry(
    236,
    422,
    "The Idempotency-Key was used with another request.",
    "Use a new key for a new request.",
  ),
  idempotency_key_invalid: entry(
    241,
    400,
    "The Idempotency-Key cannot be used.",
    "Send 1 to 255 visible ASCII characters, a new key for each new request.",
  ),
  revision_unknown: entry(242, 404, "There is no such revision.", "`GET /revisions` lists those of this account."),
  rollback_too_large: entry(
    243,
    409,
    "Too much has changed since that revision.",
    "Roll back in steps: to later revisions first.",
  ),
  document_too_large: entry(
    244,
    400,
    "There are more objects than one document may hold.",
    "Export them by the documents that made them, with `?document=NAME`.",
  ),
  scope_missing: entry(
    245,
    403,
    "The API key is limited and does not have the scope that this takes.",
    "`details.scope` names it: use a key that has it, or one without limits.",
  ),
  operator_only: entry(237, 403, "Only an operator's key may do this.", "Use the key that the first start created."),
  metrics_local_only: entry(
    240,
    403,
    "Metrics are answered to this machine only.",
    "Scrape from the machine itself, without a proxy between.",
  ),
  write_unavailable: entry(
    238,
    503,
    "The change could not be stored; nothing was changed.",
    "Try again; the log says why storage failed.",
  ),
  internal: entry(239, 500, "Something went wrong on our side.", "The log has the cause under this operation id."),
  // 400–449: domains and hostports
  hostport_invalid: entry(448, 400, "The hostport is not a host and a port.", "Write `name.example.com:443`."),
  domain_invalid: entry(449, 400, "The domain is not a host name.", "Write `app.example.com` or `*.example.com`."),
  domain_held: entry(
    413,
    409,
    "The domain is reserved already.",
    "`details` names the holder, where it is yours; else pick another domain.",
  ),
  domain_unreserved: entry(
    412,
    400,
    "The domain is not reserved, and this server wants it to be.",
    "Reserve it with `POST /reserved_domains` first.",
  ),
  hostport_held: entry(
    722,
    409,
    "Another object holds this hostport.",
    "`details` names the holder, where it is yours.",
  ),
  // 600s: credentials
  acl_invalid: entry(600, 400, "An ACL rule cannot be read.", "Write `*` or `bind:<domain | host:port | key=value>`."),
  // 100–110, 700s: agents
  agent_token_unknown: entry(
    107,
    401,
    "The agent token is not known, was deleted, or its owner is inactive.",
    "Create one with `POST /credentials`.",
  ),
  agent_api_key: entry(
    207,
    401,
    "An API key was sent where an agent token is needed.",
    "API keys use the API; agents take the tokens of `/credentials`.",
  ),
  agent_denied: entry(
    720,
    403,
    "The agent token's ACL does not allow this bind.",
    "Extend the credential's `acl`, or bind a name that it lists.",
  ),
  agent_source_denied: entry(
    726,
    403,
    "The account's IP restriction does not admit the agent's address.",
    "Connect from an address that the policies of the restriction allow.",
  ),
  agent_option_unsupported: entry(
    721,
    400,
    "The agent asked for an option that this server does not offer.",
    "Configure it on an edge's route instead.",
  ),
  agent_name_taken: entry(334, 409, "The requested name is in use.", "Pick another name, or stop the holder."),
  agent_request_invalid: entry(700, 400, "The agent's request cannot be read.", "Update the agent."),
  agent_limit: entry(725, 429, "The session holds as many tunnels as it may.", "Stop one, or start another session."),
  // 800s: commands to tunnel sessions
  command_unsupported: entry(
    804,
    400,
    "The agent does not support this command.",
    "See `agent_version` of the session.",
  ),
  command_failed: entry(807, 502, "The agent could not carry out the command.", "`msg` has its words."),
  command_timeout: entry(
    810,
    504,
    "The agent did not answer the command in time.",
    "The session may be gone; list the sessions again.",
  ),
  // 820s: endpoints
  cloud_endpoint_unsupported: entry(
    820,
    400,
    "This server makes no cloud endpoints: their traffic policies would not be enforced.",
    "Use an edge with routes and modules, or an agent's own endpoint.",
  ),
  endpoint_fixed: entry(
    821,
    409,
    "The endpoint follows from an agent or an edge and cannot be changed by itself.",
    "Stop the agent, or change the edge.",
  ),
  edge_silent: entry(
    811,
    504,
    "The edge did not answer in time.",
    "Try again; `GET /readyz` tells whether it follows the configuration.",
  ),
  // 3000s: traffic, as visitors see it
  bad_request: entry(
    3001,
    400,
    "The request could not be read as HTTP.",
    "The client sent a malformed or ambiguous request.",
  ),
  request_timeout: entry(3002, 408, "The request did not arrive in time.", "Send it without long pauses."),
  upstream_invalid: entry(
    3004,
    502,
    "The service behind this address sent an invalid response.",
    "Its operator should look at the service's log.",
  ),
  upstream_timeout: entry(3005, 504, "The service behind this address did not answer in time.", "Try again later."),
  upstream_refused: entry(3006, 502, "The service behind this address broke off the connection.", "Try again later."),
  uri_too_long: entry(3010, 414, "The request's target is too long.", "Shorten it."),
  headers_too_large: entry(3011, 431, "The request's header is too large.", "Send fewer or smaller header fields."),
  payload_too_large: entry(3012, 413, "The request's body is too large.", "Send less."),
  method_refused: entry(3013, 405, "The method is not forwarded here.", "CONNECT and TRACE end at the edge."),
  expectation_failed: entry(3014, 417, "The expectation cannot be met.", "Only `Expect: 100-continue` is known."),
  forwarding_unreadable: entry(
    3015,
    400,
    "The proxy in front does not say who asks.",
    "It must write addresses to X-Forwarded-For, by comma, without ports.",
  ),
  webhook_too_large: entry(
    3016,
    413,
    "The webhook's body is too large to be verified.",
    "Send less; the server's operator can raise --webhook-max-bytes.",
  ),
  webhook_replayed: entry(
    3017,
    409,
    "This webhook was taken before.",
    "Send it under a new id, unless it was sent twice by mistake.",
  ),
  unknown_host: entry(
    3200,
    404,
    "Nothing is published at this address.",
    "Check the address; the tunnel may have another name.",
  ),
  circuit_open: entry(
    3202,
    503,
    "The service behind this address is failing and gets a pause.",
    "Try again in a few seconds.",
  ),
  webhook_unverified: entry(
    3204,
    403,
    "The webhook's signature does not verify.",
    "Check that sender and edge use the same secret.",
  ),
  source_denied: entry(3205, 403, "Your address is not allowed here.", "Ask the operator, quoting the request id."),
  not_websocket: entry(3206, 400, "Only WebSocket connections are taken here.", "Connect with a WebSocket client."),
  no_route: entry(3208, 404, "No route of this address matches the path.", "Check the path."),
  route_broken: entry(
    3207,
    500,
    "The route's configuration could not be put into effect.",
    "Its operator finds the problem at the edge, quoting the request id.",
  ),
  tunnel_gone: entry(
    3209,
    503,
    "The tunnel behind this address has just gone.",
    "Try again; its agent may be reconnecting.",
  ),
  user_agent_denied: entry(3211, 403, "This client is not allowed here.", "Ask the operator, quoting the request id."),
  misdirected: entry(
    3212,
    421,
    "The Host of the request does not belong to the TLS connection's server name.",
    "Open a connection of its own for this host.",
  ),
  agent_dial_failed: entry(
    8012,
    502,
    "The agent could not reach the service it publishes.",
    "Start the service, or correct the agent's upstream address.",
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
  backend_unknown: entry(6501, 400, "There is no such backend.", "Create it first, or correct the id."),
  backend_nesting: entry(
    6513,
    400,
    "Backends of backends go in a circle, or too deep.",
    "Give each backend members that do not lead back to it.",
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
  reference_unknown: entry(
    7007,
    400,
    "An object that the request refers to does not exist.",
    "`details` names the field.",
  ),
  match_invalid: entry(7131, 400, "A route's match must be an absolute path.", "Write `/` or `/api`."),
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
} satisfies Record<string, CatalogueEntry>;

export interface CatalogueEntry {
  /** The public code is `ERR_POSTERN_<number>`. */
  readonly number: number;
  /** HTTP status when the refusal is answered over HTTP. */
  readonly status: number;
  /** What is wrong, one sentence. */
  readonly what: string;
  /** What to do about it, one sentence. */
  readonly fix: string;
}

export type RefusalName = keyof typeof catalogue;

/** A refusal to a client. Not a bug: rendered in one place per boundary, never logged as an error. */
export class Refusal extends Error {
  readonly reason: RefusalName;
  /** Further facts by name; for invalid input one entry per field path. Never a credential. */
  readonly details: Readonly<Record<string, string>>;

  /** @param message what was attempted and what the present value is; the catalogue's sentence when absent */
  constructor(reason: RefusalName, message?: string, details: Readonly<Record<string, string>> = {}) {
    super(message ?? catalogue[reason].what);
    this.reason = reason;
    this.details = details;
  }

  get status(): number {
    return catalogue[this.reason].status;
  }

  get code(): string {
    return errorCode(this.reason);
  }
}

export function errorCode(reason: RefusalName): string {
  return `ERR_POSTERN_${catalogue[reason].number}`;
}

function entry(number: number, status: number, what: string, fix: string): CatalogueEntry {
  return { number, status, what, fix };
}
