/** The interface of DNS providers, which set and remove one TXT record. */
import type { Clock } from "../../lib/clock.ts";
import { AcmeProblem } from "../problem.ts";
import type { TsigAlgorithm } from "./provider-names.ts";

/** One TXT record. Other records with the same name stay as they are. */
export interface DnsRecord {
  /** Lower case, without a dot at its end. */
  readonly name: string;
  /** The zone that contains the record. */
  readonly zone: string;
  /** At most 255 visible ASCII characters. */
  readonly value: string;
}

/** Calls for the same name never overlap. Both calls reject with an `AcmeProblem` within a minute. */
export interface DnsProvider {
  /** Adds the record. It may exist already. */
  present(record: DnsRecord): Promise<void>;
  /** Removes the record. It may be absent already. */
  cleanup(record: DnsRecord): Promise<void>;
}

/** How the operator's settings reach a provider. Each member is the setting `--acme-dns-NAME`. */
export interface ProviderAccess {
  readonly server?: { readonly host: string; readonly port: number } | undefined;
  /** Base URL, without a slash at its end. */
  readonly url?: string | undefined;
  /** CAs of the API's certificate, PEM. Default: the system's. */
  readonly ca?: string | undefined;
  /** Id or name of the credential. */
  readonly key?: string | undefined;
  readonly secret?: string | undefined;
  readonly algorithm?: TsigAlgorithm | undefined;
  /** Path of an executable. */
  readonly program?: string | undefined;
}

/** One provider of the list. */
export interface ProviderKind {
  /** Members of the access that the provider cannot work without. */
  readonly needs: readonly (keyof ProviderAccess)[];
  /** Members that it can use as well. */
  readonly takes: readonly (keyof ProviderAccess)[];
  /** Throws an `Error` that says what a value "must" be. */
  open(access: ProviderAccess, clock: Clock): DnsProvider;
}

/** Time to live of records, seconds. Some providers accept no less. */
export const recordTtl = 120;

/** Problem of the provider. The domain's owner sees the message, and the log has the cause as well. */
export function providerProblem(message: string, options?: { cause?: unknown; retryAfterMs?: number }): AcmeProblem {
  return new AcmeProblem("dnsProvider", message, options);
}

/** Returns the name relative to its zone, "" for the zone itself. */
export function relativeName({ name, zone }: DnsRecord): string {
  return name === zone ? "" : name.slice(0, -zone.length - 1);
}
