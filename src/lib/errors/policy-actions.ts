import { defineError } from "./entry.ts";

const newToken = "Sign in again, or send the request id to the owner of this site and ask for a new token.";

/** Errors of actions in traffic policies, for responses or for later rules. */
export const policyActionErrors = {
  rate_limited: defineError(3218, 429, "Your client sent too many requests.", "Wait for the time in `Retry-After`."),
  token_missing: defineError(
    3401,
    401,
    "This address requires a token.",
    "Send a token. The owner of this site knows where to send it.",
  ),
  token_type_wrong: defineError(3403, 401, "The token has the wrong type for this address.", newToken),
  token_unreadable: defineError(
    3406,
    401,
    "The token is not a valid JSON Web Token.",
    "Send the token unchanged, exactly as issued.",
  ),
  token_algorithm_refused: defineError(
    3408,
    401,
    "This address does not accept the token's signature algorithm.",
    newToken,
  ),
  token_key_unknown: defineError(3411, 401, "The issuer has no key that matches the token's signature.", newToken),
  token_signature_wrong: defineError(
    3412,
    401,
    "The token's signature is invalid.",
    "Send the token unchanged, exactly as issued.",
  ),
  token_expired: defineError(3413, 401, "The token has expired.", newToken),
  token_too_early: defineError(
    3414,
    401,
    "The token is not valid yet.",
    "Wait, or correct the clock of the token's issuer.",
  ),
  token_issuer_wrong: defineError(3415, 401, "This address does not accept the token's issuer.", newToken),
  token_audience_wrong: defineError(3416, 401, "The token is for another service.", newToken),
  token_keys_unavailable: defineError(
    3422,
    401,
    "The server cannot fetch the keys that verify the token.",
    "Try again in a moment. If it fails again, the owner of this site must check the URL of the issuer's keys.",
  ),
  policy_call_answer_long: defineError(
    3601,
    502,
    "The response to a request of the traffic policy is too long.",
    "Make the endpoint return at most 256 KiB.",
  ),
  policy_call_timeout: defineError(
    3602,
    504,
    "A request of the traffic policy timed out.",
    "Check the endpoint, or set a longer timeout for the action.",
  ),
  policy_call_loop: defineError(
    3603,
    508,
    "Requests of traffic policies call each other in a circle.",
    "Remove the request in the endpoint's policy that leads back here.",
  ),
  policy_call_failed: defineError(
    3604,
    502,
    "A request of the traffic policy failed.",
    "Read the request trace for the reason.",
  ),
  request_replacement_failed: defineError(
    3900,
    500,
    "The traffic policy could not change the request's body.",
    "Read the request trace for the reason.",
  ),
  response_replacement_failed: defineError(
    3901,
    500,
    "The traffic policy could not change the response's body.",
    "Read the request trace for the reason.",
  ),
  message_replacement_failed: defineError(
    3902,
    500,
    "The traffic policy could not change a message of the response.",
    "Read the request trace for the reason.",
  ),
};
