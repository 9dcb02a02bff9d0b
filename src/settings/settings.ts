/**
 * Every setting. Each has a flag (`--https-listen`), a variable (`POSTERN_HTTPS_LISTEN`) and a key in the YAML file
 * (`https_listen`); flags win over the environment over the file over the default.
 */
import { commandSettings } from "./commands.ts";
import { controlPlaneSettings } from "./control-plane.ts";
import { edgeSettings } from "./edge.ts";
import { placeSettings } from "./places.ts";
import type { ValuesOf } from "./setting.ts";
import { firstSecretSettings, logSettings, planeSettings } from "./start-up.ts";

/** What says how a platform runs, by whichever command. */
export const platformSettings = {
  ...placeSettings,
  ...controlPlaneSettings,
  ...edgeSettings,
  ...firstSecretSettings,
  ...planeSettings,
  ...logSettings,
} as const;

export type PlatformSettings = ValuesOf<typeof platformSettings>;

export const settings = { ...platformSettings, ...commandSettings } as const;
