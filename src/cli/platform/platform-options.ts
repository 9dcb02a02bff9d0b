import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { originIssue } from "../../api/cors.ts";
import { defaultAcmeSettings } from "../../api/provisioning/settings.ts";
import type { AcmeSettings } from "../../api/provisioning/settings.ts";
import type { AwsSettings } from "../../api/events/targets/target.ts";
import { readCertificates } from "../../lib/x509.ts";
import { maxTokenBytes } from "../../lib/tokens.ts";
import { cidrIssue } from "../../lib/address.ts";
import { hostIssue } from "../../lib/hostport.ts";
import { Failure } from "../process/exit.ts";
import { readOAuthApps } from "./oauth-apps.ts";
import { openLog } from "./log-output.ts";
import type { PlatformOptions } from "./platform.ts";
import type { platformSettings } from "./platform-settings.ts";
import type { ValuesOf } from "../settings/setting.ts";
import { posternVersion } from "../commands/version.ts";

type Values = ValuesOf<typeof platformSettings>;

const maxSkewSeconds = 300;
/** Least length of a key or token that an operator chooses: 160 bits in base 64 (K5). */
const leastSecretLength = 27;

/** What the settings say about the platform. Throws `Failure` (usage) for values that cannot be. */
export function platformOptions(values: Values): PlatformOptions {
  const issue = hostIssue(values.domain);
  if (issue !== undefined || values.domain.startsWith("*.")) {
    throw new Failure("usage", `--domain must ${issue ?? "not be a wildcard"}: "${values.domain}"`);
  }
  const apiUrl = values.apiUrl?.replace(/\/+$/, "");
  if (apiUrl !== undefined && !/^https?:$/.test(URL.parse(apiUrl)?.protocol ?? "")) {
    throw new Failure("usage", `--api-url must be an http:// or https:// URL: "${values.apiUrl}"`);
  }
  for (const origin of values.apiOrigins) {
    const fault = originIssue(origin);
    if (fault !== undefined) throw new Failure("usage", `--api-origins must ${fault}: "${origin}"`);
  }
  checkNetworks("--trusted-proxies", values.trustedProxies);
  checkNetworks("--trusted-forwarders", values.trustedForwarders);
  if (values.tcpBind !== undefined && isIP(values.tcpBind) === 0) {
    throw new Failure("usage", `--tcp-bind must be an address: "${values.tcpBind}"`);
  }
  const logSettings = {
    level: values.logLevel,
    format: values.logFormat ?? (process.stderr.isTTY ? "text" : "json"),
  } as const;
  return {
    data: resolve(values.data),
    database: values.database,
    historyDays: values.historyDays,
    apiListen: values.apiListen,
    apiUrl,
    apiOrigins: values.apiOrigins,
    apiRate: values.apiRate,
    quotas: {
      objects: values.accountMaxObjects,
      owned: values.ownerMaxObjects,
      bytes: values.accountMaxBytes,
    },
    httpsListen: values.httpsListen,
    httpsPort: values.httpsPort,
    httpListen: values.httpListen,
    agentListen: values.agentListen,
    tcpBind: values.tcpBind,
    tcpPorts: values.tcpPorts,
    domain: values.domain.toLowerCase(),
    trustedProxies: values.trustedProxies,
    trustedForwarders: values.trustedForwarders,
    webhooks: { maxBytes: values.webhookMaxBytes, refuseReplays: values.webhookRefuseReplays },
    logins: loginSettings(values),
    allowLocalUpstreams: values.allowLocalUpstreams,
    requireReservedDomains: values.requireReservedDomains,
    domainProof: values.requireDomainProof,
    suffixes: { more: values.publicSuffix, allowed: values.allowPublicSuffix },
    aws: awsSettings(values),
    acme: acmeSettings(values),
    chosen: {
      apiKey: chosenSecret("--bootstrap-api-key", values.bootstrapApiKey),
      authtoken: chosenSecret("--bootstrap-authtoken", values.bootstrapAuthtoken),
      sealingKey: values.sealingKey,
    },
    log: openLog(logSettings),
    logSettings,
    version: posternVersion(),
  };
}

function loginSettings(values: Values): NonNullable<PlatformOptions["logins"]> {
  if (values.clockSkew > maxSkewSeconds) throw new Failure("usage", `--clock-skew must be at most ${maxSkewSeconds}`);
  return {
    apps: values.oauthApps === undefined ? {} : readOAuthApps(values.oauthApps),
    ca: values.loginCa === undefined ? undefined : readAuthorities("--login-ca", values.loginCa),
    maxSessions: values.loginMaxSessions,
    idleDays: values.loginIdleDays,
    skewSeconds: values.clockSkew,
    sharedCallback: values.oidcSharedCallback,
  };
}

function awsSettings({ awsAccessKeyId, awsSecretAccessKey, awsStsEndpoint }: Values): AwsSettings | undefined {
  if (awsStsEndpoint !== undefined && URL.parse(awsStsEndpoint)?.protocol !== "https:") {
    throw new Failure("usage", `--aws-sts-endpoint must be an https:// URL: "${awsStsEndpoint}"`);
  }
  if (awsAccessKeyId === undefined && awsSecretAccessKey === undefined) return undefined;
  if (awsAccessKeyId === undefined || awsSecretAccessKey === undefined) {
    throw new Failure("usage", "--aws-access-key-id and --aws-secret-access-key must be given together");
  }
  return { accessKeyId: awsAccessKeyId, secretAccessKey: awsSecretAccessKey, stsEndpoint: awsStsEndpoint };
}

function acmeSettings(values: Values): AcmeSettings {
  const { acmeDirectory, acmeCa, acmeEmail, acmeAgree, acmeChallenge } = values;
  if (URL.parse(acmeDirectory)?.protocol !== "https:") {
    throw new Failure("usage", `--acme-directory must be an https:// URL: "${acmeDirectory}"`);
  }
  if (acmeEmail !== undefined && !/^[^\s@,;?<>]+@[^\s@,;?<>]+$/.test(acmeEmail)) {
    throw new Failure("usage", `--acme-email must be one e-mail address: "${acmeEmail}"`);
  }
  return {
    directoryUrl: acmeDirectory,
    ca: acmeCa === undefined ? undefined : readAuthorities("--acme-ca", acmeCa),
    email: acmeEmail,
    agreed: acmeAgree,
    challenges: acmeChallenge === undefined ? defaultAcmeSettings.challenges : [acmeChallenge],
  };
}

function readAuthorities(flag: string, file: string): string {
  try {
    const pem = readFileSync(file, "utf8");
    readCertificates(pem);
    return pem;
  } catch (error) {
    throw new Failure("usage", `${flag} "${file}" cannot be used: ${(error as Error).message}`, { cause: error });
  }
}

function chosenSecret(flag: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(value) || value.length < leastSecretLength || value.length > maxTokenBytes) {
    throw new Failure(
      "usage",
      `${flag} must be ${leastSecretLength} to ${maxTokenBytes} visible ASCII characters, chosen at random`,
    );
  }
  return value;
}

function checkNetworks(flag: string, networks: readonly string[]): void {
  for (const network of networks) {
    const fault = cidrIssue(network);
    if (fault !== undefined) throw new Failure("usage", `${flag} must ${fault}: "${network}"`);
  }
}
