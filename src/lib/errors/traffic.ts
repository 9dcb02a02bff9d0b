import { entry } from "./entry.ts";

/** What visitors are told: 3000s, and 8000s for what an agent reports. */
export const trafficErrors = {
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
};
