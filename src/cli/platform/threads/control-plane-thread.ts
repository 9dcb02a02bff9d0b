/** The control plane's thread. */
import { parentPort, workerData } from "node:worker_threads";
import { startControlPlane } from "../../../api/control-plane.ts";
import type { DevelopmentProvider } from "../../../api/logins/addresses-operation.ts";
import type { SharedKeys, ServerKeys } from "../../../api/nodes/shared-keys.ts";
import type { AddressData } from "../../../geo/address-book.ts";
import type { CaptureKey } from "../../../capture/store/capture-keys.ts";
import type { BacktestSettings } from "../../../backtest/backtest-settings.ts";
import { replaceServerData } from "../../../policy/server-data.ts";
import { serverDataOf } from "../../../policy/variables/address-variables.ts";
import { backtestRunner } from "../../../backtest/start-backtest.ts";
import { systemClock } from "../../../lib/clock.ts";
import type { Downward, Upward } from "../../../routing/planes/messages.ts";
import type { ControlPlaneSettings } from "../../../settings/control-plane.ts";
import { controlPlanePortLink } from "./port-link.ts";
import { runThread } from "./run-thread.ts";
import type { FromThread, ThreadData } from "./thread-messages.ts";

export interface ControlPlaneThreadOptions {
  readonly settings: ControlPlaneSettings;
  /** The first key seals stored secrets. All keys open them. */
  readonly sealingKeys: readonly Uint8Array[];
  readonly version: string;
  readonly developmentProvider: DevelopmentProvider | undefined;
  readonly serverKeys: ServerKeys;
  readonly bootstrap: { readonly apiKey: string; readonly authtoken: string };
  /** Directory of the captured requests. */
  readonly captureDirectory: string;
  readonly backtestSettings: BacktestSettings;
}

export interface ControlPlanePorts {
  readonly apiPort: number;
  /** Keys that all nodes share; undefined for a single server. */
  readonly sharedKeys: SharedKeys | undefined;
  /** Keys for captured requests, oldest first. */
  readonly captureKeys: readonly CaptureKey[];
}

const { options, ports, refused } = workerData as ThreadData<ControlPlaneThreadOptions>;
/** Sent by the main thread once they are loaded. */
let addresses: AddressData | undefined;
const { settings, sealingKeys, captureDirectory: directory, backtestSettings, ...given } = options;
const links = ports.map(() => controlPlanePortLink());
await runThread<ControlPlanePorts, Downward, Upward>(links, "ends", async (log, telemetry) => {
  const sealingKey = sealingKeys.map((key) => Buffer.from(key));
  const controlPlane = await startControlPlane(
    {
      ...settings,
      ...given,
      sealingKey,
      refused: new Set(refused),
      clock: systemClock,
      log,
      readinessChecked: () =>
        parentPort?.postMessage({ type: "readinessChecked" } satisfies FromThread<ControlPlanePorts>),
      telemetry,
      backtests: (keys) =>
        backtestRunner(
          () => ({ directory, keys: keys() }),
          backtestSettings,
          () => addresses,
        ),
    },
    links,
  );
  const { address, sharedKeys, captureKeys } = controlPlane;
  return {
    ports: { apiPort: address.port, sharedKeys, captureKeys },
    replaceAddresses(data) {
      addresses = data;
      replaceServerData(serverDataOf(data));
    },
    serverProblem: (problem) => controlPlane.tellProblem(problem),
    stop: () => controlPlane.stop(),
  };
});
