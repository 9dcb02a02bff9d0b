import { entry } from "./entry.ts";

/** What visitors are told of logins: 3100s. */
export const loginErrors = {
  login_required: entry(3100, 401, "You have to log in.", "Open the address in a browser, or follow login_url."),
  login_email_unverified: entry(
    3104,
    403,
    "Your e-mail address is not verified.",
    "Verify it at the provider that you logged in with, then log in again.",
  ),
  login_not_listed: entry(
    3105,
    403,
    "Your account may not come in here.",
    "Use another account, or ask the operator to let this one in.",
  ),
  login_state_missing: entry(
    3107,
    400,
    "The login cannot be continued: its state is missing.",
    "Start again at the address that you wanted to open.",
  ),
  login_state_unreadable: entry(
    3108,
    400,
    "The login cannot be continued: its state is not ours.",
    "Start again at the address that you wanted to open.",
  ),
  login_no_email: entry(
    3109,
    403,
    "The provider did not tell your e-mail address.",
    "Log in again and let it be shared, or use another account.",
  ),
  login_scope_missing: entry(
    3110,
    403,
    "The provider did not grant what this address asks for.",
    "Log in again and agree to everything that is asked for.",
  ),
  login_provider_error: entry(
    3112,
    502,
    "The provider could not log you in.",
    "Try again; its operator finds the reason in the trace of the request.",
  ),
  login_declined: entry(3114, 403, "The login was declined.", "Start again if that was not what you meant."),
  login_redirect_refused: entry(
    3115,
    502,
    "The provider does not know the address that it should send you back to.",
    "Its operator registers the callback address, which is in the trace of the request.",
  ),
  login_late: entry(3119, 400, "The login took too long.", "Start again at the address that you wanted to open."),
  login_no_flow: entry(
    3121,
    400,
    "This browser has not begun the login.",
    "Start again in this browser, and let it keep cookies.",
  ),
  login_used: entry(
    3123,
    400,
    "This login was finished before.",
    "Start again at the address that you wanted to open.",
  ),
  login_elsewhere: entry(
    3124,
    400,
    "The login belongs to another address.",
    "Start again at the address that you wanted to open.",
  ),
  login_client_refused: entry(
    3125,
    502,
    "The provider does not take this address's credentials.",
    "Its operator corrects client_id and client_secret.",
  ),
  login_scope_refused: entry(
    3126,
    502,
    "The provider does not know what this address asks for.",
    "Its operator corrects the scopes.",
  ),
  login_loop: entry(
    3128,
    400,
    "Logging in did not last: the session did not come back.",
    "Let this browser keep cookies of this address, and see that its clock is right.",
  ),
  login_form: entry(
    3129,
    401,
    "You have to log in before you can send this.",
    "Log in in a new tab, come back to this one, and send it again.",
  ),
  login_withdrawn: entry(3151, 401, "The provider has withdrawn your login.", "Log in again."),
  login_unreachable: entry(3160, 502, "The provider cannot be reached.", "Try again in a moment."),
  login_throttled: entry(3161, 503, "The provider has too much to do.", "Try again in a moment."),
  login_exchange_failed: entry(
    3163,
    502,
    "The provider did not complete the login.",
    "Try again; its operator finds the reason in the trace of the request.",
  ),
  login_token_invalid: entry(
    3164,
    502,
    "What the provider said of you cannot be relied on.",
    "Try again; its operator finds the reason in the trace of the request.",
  ),
  login_unchecked: entry(
    3167,
    503,
    "Whether you may still come in cannot be found out at the moment.",
    "Try again in a moment.",
  ),
};
