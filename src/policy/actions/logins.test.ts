import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { errorCode } from "../../lib/errors.ts";
import type { RefusalName } from "../../lib/errors.ts";
import { compilePolicy } from "../compile-policy.ts";
import { oauthProviders } from "../../identity/oauth/oauth-providers.ts";
import { oauth } from "./oauth.ts";

const github = { provider: "github" };
const issuer = { issuer_url: "https://login.example.com", client_id: "c", client_secret: "s" };
const metadata = { idp_metadata: '<EntityDescriptor entityID="https://id.example"/>' };
const login = (config: object, type = "oauth") => ({ type, config });

/** Returns codes and messages of the errors in a policy with these rules. */
function faultsOf(rules: readonly object[], phase = "on_http_request"): string[] {
  const { issues } = compilePolicy(JSON.stringify({ [phase]: rules }), "http");
  return issues.map(({ path, message, reason }) => `${errorCode(reason)} ${path} ${message}`);
}

function faultOf(type: string, config: object): string {
  return faultsOf([{ actions: [login(config, type)] }]).join("; ");
}

function isRefused(fault: string, reason: RefusalName, message: RegExp): void {
  assert.match(fault, message);
  assert.ok(fault.startsWith(errorCode(reason)), fault);
}

describe("logins of traffic policies", () => {
  it("logins of traffic policies accept all documented fields, and both names of the idle time", () => {
    const shared = {
      auth_id: "staff",
      scopes: ["read:user"],
      authz_url_params: { prompt: "consent", hd: "example.com" },
      max_session_duration: "8h",
      userinfo_refresh_interval: "10m",
      allow_cors_preflight: true,
      email_addresses: ["ada@example.com"],
      email_domains: ["example.com"],
      machine_clients: { enabled: true, scopes: ["access", "write"] },
    };
    const client = { client_id: "c", client_secret: "${secrets.get('vault', 'name')}" };
    for (const idle of ["idle_session_timeout", "idle_session_duration"]) {
      assert.equal(faultOf("oauth", { ...github, ...client, ...shared, [idle]: "30m" }), "");
      for (const type of ["openid-connect", "oidc"]) {
        assert.equal(faultOf(type, { ...issuer, ...shared, [idle]: "30m" }), "");
      }
    }
  });

  it("a saml action of a policy accepts all documented fields, and both names of the idle time", () => {
    const all = {
      ...metadata,
      force_authn: true,
      allow_idp_initiated: false,
      authorized_groups: ["staff"],
      nameid_format: "urn:oasis:names:tc:SAML:2.0:nameid-format:transient",
      entity_id: "https://idp.example.com/saml/x-rule",
      assertion_consumer_service_url: "https://idp.example.com/saml/x-rule/acs",
      auth_id: "staff_1",
      max_session_duration: "8h",
      allow_cors_preflight: true,
      machine_clients: { enabled: true, registration: ["listed"], client_ids: ["robot"], consent: "never" },
    };
    for (const idle of ["idle_session_timeout", "idle_session_duration"]) {
      assert.equal(faultOf("saml", { ...all, [idle]: "30m" }), "");
    }
  });

  it("an oauth action of a policy supports the same providers as logins", () => {
    const { provider } = oauth.config;
    assert.deepEqual(provider?.type === "oneOf" && [...provider.values].sort(), [...oauthProviders.keys()].sort());
  });

  const refused: readonly (readonly [type: string, config: object, reason: RefusalName, message: RegExp])[] = [
    ["oauth", {}, "policy_field_missing", /config\.provider is required/],
    ["oauth", { provider: "githib" }, "policy_value_refused", /provider must be one of/],
    ["oauth", { ...github, client_id: "c" }, "policy_login_secret_missing", /client_secret is required/],
    ["oauth", { ...github, client_secret: "s" }, "policy_login_client_missing", /client_id is required/],
    ["oauth", { ...github, scopes: ["user"] }, "policy_login_scopes", /scopes must be empty/],
    [
      "oauth",
      { ...github, auth_cookie_domain: "example.com" },
      "policy_login_domain",
      /auth_cookie_domain must be omitted/,
    ],
    ["oauth", { ...github, max_session: "1h" }, "policy_config_unreadable", /max_session_duration/],
    ["oauth", { ...github, max_session_duration: "a day" }, "policy_value_refused", /must be a duration/],
    ["oauth", { ...github, idle_session_timeout: "0s" }, "policy_value_refused", /must be from 1s/],
    ["oauth", { ...github, authz_url_params: { state: "x" } }, "policy_value_refused", /that the login itself sends/],
    [
      "oauth",
      { ...github, authz_url_params: { Code_Challenge_Method: "plain" } },
      "policy_value_refused",
      /itself sends/,
    ],
    ["openid-connect", { client_id: "c", client_secret: "s" }, "policy_field_missing", /issuer_url is required/],
    ["openid-connect", { ...issuer, client_id: undefined }, "policy_field_missing", /client_id is required/],
    ["openid-connect", { ...issuer, issuer_url: "http://8.8.8.8" }, "policy_url_invalid", /https URL/],
    ["openid-connect", { ...issuer, client_id: "${req.host}" }, "policy_interpolation_invalid", /not "req\.host"/],
    [
      "openid-connect",
      { ...issuer, client_secret: "${getReqHeader('x')[0]}" },
      "policy_interpolation_invalid",
      /getReqHeader/,
    ],
    [
      "openid-connect",
      { ...issuer, client_secret: "${string(rand.int())}" },
      "policy_interpolation_invalid",
      /rand\.int/,
    ],
    ["saml", {}, "policy_field_missing", /config\.idp_metadata is required/],
    ["saml", { idp_metadata: "<x/>" }, "policy_value_refused", /must be an XML EntityDescriptor/],
    ["saml", { idp_metadata: '<!DOCTYPE x><EntityDescriptor entityID="x"/>' }, "policy_value_refused", /DOCTYPE/],
    ["saml", { idp_metadata_url: "http://8.8.8.8/metadata" }, "policy_value_refused", /be an https URL/],
    ["saml", { ...metadata, auth_id: "a-b" }, "policy_value_refused", /it is part of addresses/],
    ["saml", { ...metadata, nameid_format: "x" }, "policy_value_refused", /nameid_format must be one of/],
    ["saml", { ...metadata, auth_cookie_domain: "example.com" }, "policy_login_domain", /must be omitted/],
    ["openid-connect", { ...issuer, client_secret: "${secrets.get('a'" }, "policy_interpolation_invalid", /not closed/],
    [
      "oauth",
      { ...github, machine_clients: { consent: "never" } },
      "policy_value_refused",
      /consent must not be "never"/,
    ],
    [
      "openid-connect",
      { ...issuer, machine_clients: { registration: ["listed"] } },
      "policy_value_refused",
      /client_ids must name a client/,
    ],
    [
      "saml",
      { ...metadata, machine_clients: { scope_rules: [{ scope: "access", expression: "mcp.tol == 'x'" }] } },
      "policy_config_unreadable",
      /expression must be an expression/,
    ],
  ];
  for (const [type, config, reason, message] of refused) {
    it(`a traffic policy is rejected with ${reason} for ${type} ${JSON.stringify(config)}`, () => {
      isRefused(faultOf(type, config), reason, message);
    });
  }

  it("I2: a login of a traffic policy defines its client, its callback and its limits, in every spelling", () => {
    const own =
      "client_id redirect_uri response_type response_mode scope state nonce code_challenge code_challenge_method request request_uri";
    for (const name of [...own.split(" "), "Request_URI", "RESPONSE_MODE"]) {
      for (const [type, config] of [
        ["oauth", github],
        ["openid-connect", issuer],
      ] as const) {
        const fault = faultOf(type, { ...config, authz_url_params: { [name]: "x" } });
        isRefused(fault, "policy_value_refused", /that the login itself sends/);
      }
    }
    assert.equal(
      faultOf("oauth", { ...github, authz_url_params: { login_hint: "x", my_state: "x", scopes: "x" } }),
      "",
    );
  });

  it("a login of a traffic policy acts only on requests", () => {
    const rules = [{ actions: [login(github)] }];
    isRefused(faultsOf(rules, "on_http_response").join(), "policy_action_misplaced", /on_http_request/);
    const { issues } = compilePolicy(JSON.stringify({ on_tcp_connect: rules }), "tcp");
    assert.equal(issues[0]?.reason, "policy_action_misplaced");
  });

  it("two logins of a traffic policy need different auth_ids and separate rules", () => {
    const two = (first: object, second: object) => faultsOf([{ actions: [first] }, { actions: [second] }]).join();
    const oidc = (config: object = {}) => login({ ...issuer, ...config }, "openid-connect");
    isRefused(two(login(github), oidc()), "policy_logins_many", /also no auth_id/);
    isRefused(two(login({ ...github, auth_id: "a" }), oidc({ auth_id: "a" })), "policy_logins_many", /auth_id "a"/);
    assert.equal(two(login(github), oidc({ auth_id: "b" })), "");
    isRefused(two(login(metadata, "saml"), oidc()), "policy_logins_many", /also no auth_id/);
    assert.equal(two(login(metadata, "saml"), login({ ...metadata, auth_id: "b" }, "saml")), "");
    const beside = faultsOf([{ actions: [login(github), oidc({ auth_id: "b" })] }]).join();
    isRefused(beside, "policy_logins_many", /a rule can have only one/);
  });

  it("results of logins have their documented types, and there are no other results", () => {
    const condition = (text: string) => faultsOf([{ expressions: [text], actions: [{ type: "deny" }] }]);
    for (const text of [
      "actions.ngrok.oauth.identity.email == '' && actions.ngrok.oauth.identity.current_provider_session_id == ''",
      "actions.ngrok.oidc.identity.current_session_id == '' && actions.ngrok.oidc.identity_token == ''",
      "actions.ngrok.oauth.identity.email_verified || actions.ngrok.oidc.identity.email_verified",
      "!actions.ngrok.oauth.userinfo_refreshed && !actions.ngrok.oidc.user_info_refreshed",
      "'staff' in actions.ngrok.saml.groups && actions.ngrok.saml.identity.current_session_id != ''",
      "actions.ngrok.oauth.error.code == '' && !actions.ngrok.oauth.session_timed_out",
    ]) {
      assert.deepEqual(condition(text), [], text);
    }
    assert.equal(condition("actions.ngrok.oauth.identity.mail == ''").length, 1);
  });
});
