import { entry } from "./entry.ts";

const newToken = "Sign in again, or ask the operator for a token, quoting the request id.";

/** What actions of traffic policies answer, or leave for later rules to read. */
export const policyActionErrors = {
  rate_limited: entry(3218, 429, "Too many requests have come from here.", "Wait as long as `Retry-After` says."),
  token_missing: entry(3401, 401, "This address asks for a token.", "Send one; its operator knows where it belongs."),
  token_type_wrong: entry(3403, 401, "The token is of another kind than this address accepts.", newToken),
  token_unreadable: entry(3406, 401, "The token is not a signed token.", "Send it as it was issued, unchanged."),
  token_algorithm_refused: entry(3408, 401, "The token is signed in a way that is not accepted here.", newToken),
  token_key_unknown: entry(3411, 401, "The token is not signed by a key of its issuer.", newToken),
  token_signature_wrong: entry(3412, 401, "The token's signature is wrong.", "Send it as it was issued, unchanged."),
  token_expired: entry(3413, 401, "The token has expired.", newToken),
  token_too_early: entry(3414, 401, "The token is not valid yet.", "Wait, or correct the clock that issued it."),
  token_issuer_wrong: entry(3415, 401, "The token's issuer is not accepted here.", newToken),
  token_audience_wrong: entry(3416, 401, "The token is meant for another service.", newToken),
  token_keys_unavailable: entry(
    3422,
    401,
    "The keys that verify the token cannot be fetched.",
    "Try again later; the operator can look at the address of the issuer's keys.",
  ),
  policy_call_answer_long: entry(
    3601,
    502,
    "The answer to a request of the traffic policy is too long.",
    "Let the endpoint answer at most 256 KiB.",
  ),
  policy_call_timeout: entry(
    3602,
    504,
    "A request of the traffic policy was not answered in time.",
    "Look at the endpoint, or give the action a longer timeout.",
  ),
  policy_call_loop: entry(
    3603,
    508,
    "Requests of traffic policies lead to each other.",
    "Let the endpoint's own policy send no request that comes back here.",
  ),
  policy_call_failed: entry(
    3604,
    502,
    "A request of the traffic policy could not be sent or was not answered.",
    "The request's trace says why.",
  ),
  request_replacement_failed: entry(
    3900,
    500,
    "The request's body could not be changed as the traffic policy says.",
    "The request's trace says why.",
  ),
  response_replacement_failed: entry(
    3901,
    500,
    "The response's body could not be changed as the traffic policy says.",
    "The request's trace says why.",
  ),
  message_replacement_failed: entry(
    3902,
    500,
    "A message of the response could not be changed as the traffic policy says.",
    "The request's trace says why.",
  ),
};
