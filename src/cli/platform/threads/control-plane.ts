/** The control plane's thread. */
import { workerData } from "node:worker_threads";
import type { AwsSettings } from "../../../api/events/targets/target.ts";
import type { DomainProof } from "../../../api/domain-proof/rules.ts";
import type { AcmeSettings } from "../../../api/provisioning/settings.ts";
import { startControlPlane } from "../../../api/control-plane.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { SuffixRules } from "../../../lib/public-suffix.ts";
import type { Downward, Upward } from "../../../routing/planes/messages.ts";
import type { Quotas } from "../../../storage/quotas.ts";
import type { ListenAddress, PortRange } from "../../settings/setting.ts";
import { portLink } from "./port-link.ts";
import { runThread } from "./run-thread.ts";
import type { ThreadData } from "./thread-messages.ts";

export interface ControlPlaneThreadOptions {
  readonly listen: ListenAddress;
  readonly apiUrl: string | undefined;
  readonly database: string;
  readonly dataDirectory: string;
  readonly historyDays: number;
  readonly sealingKeys: readonly Uint8Array[];
  readonly domain: string;
  readonly httpsPort: number | undefined;
  readonly requireReservedDomains: boolean;
  readonly suffixes: SuffixRules;
  readonly allowLocalUpstreams: boolean;
  readonly domainProof: DomainProof;
  readonly tcpPorts: PortRange | undefined;
  readonly acme: AcmeSettings;
  readonly apiOrigins: readonly string[];
  readonly apiRate: number | undefined;
  readonly quotas: Quotas | undefined;
  readonly events: { readonly allowPrivate: boolean; readonly aws: AwsSettings | undefined };
  readonly loginIdleDays: number | undefined;
  readonly bootstrap: { readonly apiKey: string; readonly authtoken: string };
}

export interface ControlPlaneFacts {
  readonly port: number;
}

const { options } = workerData as ThreadData<ControlPlaneThreadOptions>;
const link = portLink<Downward, Upward>();
await runThread<ControlPlaneFacts, Downward, Upward>(link, async (log) => {
  const { listen, apiUrl, apiRate, quotas, sealingKeys, loginIdleDays, ...rest } = options;
  const controlPlane = await startControlPlane(
    {
      ...rest,
      ...(apiUrl === undefined ? {} : { apiUrl }),
      ...(apiRate === undefined ? {} : { limits: { requestsPerMinute: apiRate } }),
      ...(quotas && { quotas }),
      ...(loginIdleDays === undefined ? {} : { loginIdleDays }),
      listen: { host: listen.host ?? "::", port: listen.port },
      sealingKey: sealingKeys.map((key) => Buffer.from(key)),
      clock: systemClock,
      log,
    },
    [link],
  );
  return { facts: { port: controlPlane.address.port }, stop: () => controlPlane.stop() };
});
