/**
 * All settings. Each has a flag (`--https-listen`), a variable (`POSTERN_HTTPS_LISTEN`) and a key in the YAML file
 * (`https_listen`). Flags win over the environment, the environment over the file, and the file over the default.
 */
import { addressSettings } from "./addresses.ts";
import { commandSettings } from "./commands.ts";
import { controlPlaneSettings } from "./control-plane.ts";
import { edgeSettings } from "./edge.ts";
import { placeSettings } from "./places.ts";
import type { ValuesOf } from "./setting.ts";
import { telemetrySettings } from "./telemetry.ts";
import { firstSecretSettings, logSettings, planeSettings } from "./start-up.ts";

/** Settings of a platform, for all commands that run one. */
export const platformSettings = {
  ...placeSettings,
  ...controlPlaneSettings,
  ...edgeSettings,
  ...firstSecretSettings,
  ...planeSettings,
  ...addressSettings,
  ...logSettings,
  ...telemetrySettings,
} as const;

export type PlatformSettings = ValuesOf<typeof platformSettings>;

export const settings = { ...platformSettings, ...commandSettings } as const;
