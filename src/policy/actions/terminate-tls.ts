import { captureWork } from "../../lib/heartbeat.ts";
import { listOf, types } from "../../cel/checking/cel-types.ts";
import { CelFailure } from "../../cel/values/cel-failure.ts";
import { readOwnCertificate } from "../../lib/certificates/own-certificate.ts";
import type { OwnCertificate } from "../../lib/certificates/own-certificate.ts";
import { f } from "../../schema/fields.ts";
import type { StoredOf } from "../../schema/fields.ts";
import type { TlsFacts } from "../../traffic/connection-facts.ts";
import type { Handshake, TlsVersion } from "../../traffic/handshake.ts";
import { readAuthorities } from "../../traffic/parts/authority-pem.ts";
import { breakAction, breakWith, defineAction, makeDone, skipAction } from "../language/action.ts";
import type { ActionOutcome, ActionScope } from "../language/action.ts";
import type { PolicyContext } from "../language/policy-context.ts";
import type { Template } from "../language/template.ts";
import { tlsVariables } from "../variables/policy-connection-variables.ts";

const versions = ["1.2", "1.3"] as const;
const pemText = f.string("PEM, or the id of a certificate authority.", { minBytes: 1, maxBytes: 32_768 });
const prefix = "conn.tls.";

const config = {
  min_version: f.oneOf("Minimum TLS version.", versions, { default: "1.2" }),
  max_version: f.oneOf("Maximum TLS version.", versions, { default: "1.3" }),
  server_certificate: f.string(
    "PEM of the certificate, followed by its chain; can contain `${…}`. Default: the account's certificate for the name.",
    { maxBytes: 32_768 },
  ),
  server_private_key: f.string("PEM of the certificate's key; can contain `${…}`.", { maxBytes: 16_384 }),
  mutual_tls_certificate_authorities: f.list(
    "CAs that client certificates must chain to: PEM, which can be `${…}`, or ids.",
    pemText,
    { maxItems: 10 },
  ),
  mutual_tls_verification_strategy: f.nullableOneOf(
    "`require-and-verify`: clients need a certificate of one of the CAs (default if CAs are set). `require-any`: clients need any certificate. `request`: a certificate is optional. Do not trust data in a certificate that is not verified.",
    ["require-and-verify", "require-any", "request"],
  ),
};

type Config = StoredOf<typeof config>;

const strategies = { "require-and-verify": "verify", "require-any": "any", request: "request" } as const;

export const terminateTls = defineAction({
  type: "terminate-tls",
  phases: ["on_tcp_connect"],
  layers: ["tls", "http"],
  doc: "Terminates TLS at this point: later actions see the decrypted bytes. Without this action, TLS is passed through. The connection is closed if the handshake fails. HTTPS endpoints always terminate TLS: at the first request they drop connections with other versions.",
  config,
  alsoTakes: { min_version: { enum: [1.2, 1.3] }, max_version: { enum: [1.2, 1.3] } },
  widen: (given) => ({ ...given, ...asText(given, "min_version"), ...asText(given, "max_version") }),
  rules: [
    ({ min_version, max_version }) =>
      min_version > max_version
        ? { path: "max_version", message: "must not be below min_version", reason: "policy_value_refused" }
        : undefined,
    ({ server_certificate, server_private_key }) => {
      if ((server_certificate === "") === (server_private_key === "")) return undefined;
      const path = server_certificate === "" ? "server_certificate" : "server_private_key";
      const message = "must be set: a certificate and its key belong together";
      return { path, message, reason: "policy_field_needs_other" };
    },
    ({ mutual_tls_certificate_authorities: authorities, mutual_tls_verification_strategy: strategy }) =>
      strategy === "require-and-verify" && authorities.length === 0
        ? {
            path: "mutual_tls_certificate_authorities",
            message: "must name a CA: require-and-verify needs one",
            reason: "policy_field_needs_other",
          }
        : undefined,
  ],
  endsTls: true,
  results: {
    name: "terminate_tls",
    fields: { error_code: types.string, error_message: types.string, warnings: listOf(types.string) },
    mirrors: Object.fromEntries(
      Object.entries(tlsVariables).map(([name, variable]) => [name.slice(prefix.length), variable]),
    ),
  },
  compile(given, scope) {
    if (scope.layer === "http") refuseForHttp(given, scope);
    const certificate = compileCertificate(given, scope);
    const authorities = compileAuthorities(given.mutual_tls_certificate_authorities, scope);
    const strategy = given.mutual_tls_verification_strategy;
    const fixed: Handshake = {
      minVersion: `TLSv${given.min_version}`,
      maxVersion: `TLSv${given.max_version}`,
      ...(strategy !== null && { clientCertificates: strategies[strategy] }),
    };
    return {
      attach: (place): ClientAuthorities =>
        authorities.map((one) => (typeof one === "string" ? { pem: place.authority(one) } : one)),
      run(context, state) {
        const pems = pemsOf(state as ClientAuthorities, context);
        const shown = certificate(context);
        if (pems instanceof CelFailure || shown instanceof CelFailure) {
          return breakWith(pems instanceof CelFailure ? pems : (shown as CelFailure));
        }
        const demands = pems.length === 0 ? fixed : { ...fixed, clientAuthorities: pems.join("\n") };
        return endTls(context, demands, shown);
      },
    };
  },
});

/** The handshake of an HTTPS endpoint is complete before its rules act. */
function refuseForHttp(options: Config, scope: ActionScope): void {
  const message = "must be omitted: an HTTPS endpoint terminates TLS before its rules apply";
  const unsupported = [
    ["server_certificate", options.server_certificate !== ""],
    ["mutual_tls_certificate_authorities", options.mutual_tls_certificate_authorities.length > 0],
    ["mutual_tls_verification_strategy", options.mutual_tls_verification_strategy !== null],
  ] as const;
  for (const [field, isGiven] of unsupported) if (isGiven) scope.wrong(field, message, "policy_action_protocol");
}

/** For ids, the PEM is known when the policy is attached. */
type ClientAuthorities = readonly ({ readonly pem: string } | Template)[];

async function endTls(
  context: PolicyContext,
  demands: Handshake,
  certificate: OwnCertificate | undefined,
): Promise<ActionOutcome> {
  const inSameWork = captureWork();
  const { open } = context;
  if (open?.endTls === undefined) return refuseAlreadyEnded(context.connection.tls, demands);
  const ended = inSameWork(await open.endTls(demands, certificate));
  if (ended instanceof Error) return breakAction("policy_action_failed", ended.message);
  context.connection = open.facts;
  return makeDone(`terminated TLS, version ${ended.version.replace("TLSv", "")}`, noError);
}

/** The connection's forwarder has terminated TLS. The demands of this action must hold for that handshake. */
function refuseAlreadyEnded(tls: TlsFacts | undefined, demands: Handshake): ActionOutcome {
  const { minVersion, maxVersion, clientAuthorities, clientCertificates } = demands;
  const isWithin = tls && tls.version >= (minVersion as TlsVersion) && tls.version <= (maxVersion as TlsVersion);
  const isAsked = clientAuthorities !== undefined || (clientCertificates ?? "request") !== "request";
  if (isWithin && !isAsked) {
    return skipAction("TLS was already terminated", { ...noError, warnings: ["TLS was already terminated"] });
  }
  return breakAction("policy_action_failed", "TLS was already terminated, by a handshake with fewer requirements");
}

const noError = { error_code: "", error_message: "", warnings: [] };

/** YAML parses `1.2` as a number. */
function asText(options: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  return typeof options[name] === "number" ? { [name]: String(options[name]) } : {};
}

function compileCertificate(
  { server_certificate, server_private_key }: Config,
  scope: ActionScope,
): (context: PolicyContext) => OwnCertificate | CelFailure | undefined {
  if (server_certificate === "") return () => undefined;
  const certificate = scope.template(server_certificate, "server_certificate");
  const key = scope.template(server_private_key, "server_private_key");
  if (certificate.constant !== undefined && key.constant !== undefined) {
    const read = readOwnCertificate(certificate.constant, key.constant);
    if ("id" in read) return () => read;
    const field = read.of === "key" ? "server_private_key" : "server_certificate";
    scope.wrong(field, `must ${read.must}`, "policy_value_invalid");
    return () => undefined;
  }
  // Parsing takes one millisecond, and the certificate is usually the same as for the previous connection.
  let last: { readonly pem: string; readonly its: string; readonly read: OwnCertificate | CelFailure } | undefined;
  return (context) => {
    const pem = certificate.text(context);
    const its = key.text(context);
    if (pem instanceof CelFailure) return pem;
    if (its instanceof CelFailure) return its;
    if (last?.pem === pem && last.its === its) return last.read;
    const read = readOwnCertificate(pem, its);
    last = { pem, its, read: "id" in read ? read : new CelFailure(`the ${read.of} must ${read.must}`) };
    return last.read;
  };
}

/** An id stays a text. */
function compileAuthorities(
  pems: readonly string[],
  scope: ActionScope,
): readonly (string | ClientAuthorities[number])[] {
  return pems.map((text, index) => {
    const at = `mutual_tls_certificate_authorities[${index}]`;
    if (/^ca_[0-9A-Za-z]{1,60}$/.test(text)) return text;
    const template = scope.template(text, at);
    if (template.constant === undefined) return template;
    const read = readAuthorities(template.constant);
    if ("pem" in read) return read;
    scope.wrong(at, `must ${read.must}, or be the id of a certificate authority`, "policy_value_invalid");
    return { pem: "" };
  });
}

function pemsOf(authorities: ClientAuthorities, context: PolicyContext): readonly string[] | CelFailure {
  const pems: string[] = [];
  for (const one of authorities) {
    if ("pem" in one) {
      pems.push(one.pem);
      continue;
    }
    const text = one.text(context);
    if (text instanceof CelFailure) return text;
    const read = readAuthorities(text);
    if ("must" in read) return new CelFailure(`an authority must ${read.must}`);
    pems.push(read.pem);
  }
  return pems;
}
