import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { idpHostOf } from "../../lib/server-names.ts";
import type { ListenAddress } from "../../settings/kinds/address.ts";
import { certificates } from "../../settings/kinds/file.ts";
import { Failure, failOnError } from "../process/exit.ts";
import { findOwnAddresses, resolveWith } from "./name-checks.ts";
import type { OwnAddresses, ResolveName, ServerNames } from "./name-checks.ts";
import type { UpValues } from "./up-settings.ts";

/** Values of the server for the checks and the start. */
export interface UpPlan extends ServerNames {
  readonly own: OwnAddresses;
  readonly resolve: ResolveName;
  /** Absolute. */
  readonly data: string;
  readonly https: ListenAddress;
  /** Port in public URLs. */
  readonly publicPort: number;
  readonly http: ListenAddress | undefined;
  readonly agents: ListenAddress;
  readonly acmeDirectory: string;
  /** PEM; the system's CAs if undefined. */
  readonly acmeCa: string | undefined;
  /** Whether a systemd service runs the server. */
  readonly isService: boolean;
}

/** @throws Failure (usage) for a missing domain or e-mail address, and for an unreadable CA */
export function planOf(values: UpValues): UpPlan {
  const { domain, email, idpHost, acmeCa } = values;
  if (domain === undefined || email === undefined) {
    throw new Failure(
      "usage",
      "set the server's domain with --domain, and an e-mail address for the certificate authority with --email",
    );
  }
  return {
    domain,
    idpHost: idpHostOf({ domain, idpHost }),
    own: findOwnAddresses(values.address),
    resolve: resolveWith(values.nameServer),
    data: resolve(values.data),
    https: values.httpsListen,
    publicPort: values.httpsPort ?? values.httpsListen.port,
    http: values.httpListen,
    agents: values.agentListen,
    acmeDirectory: values.acmeDirectory,
    acmeCa: acmeCa === undefined ? undefined : failOnError("--acme-ca", () => certificates.parse(acmeCa)),
    isService: !values.foreground,
  };
}

/** The API key of a data directory, or undefined if the server has not created it yet. */
export function apiKeyIn(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
