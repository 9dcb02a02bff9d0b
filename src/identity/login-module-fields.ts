import { f } from "../schema/fields.ts";
import type { StringFormat } from "../schema/fields.ts";
import type { LoginRouteConfig } from "./login-engine.ts";
import { machineClientFields } from "../traffic/machine-client-fields.ts";
import type { MachineClientBlock } from "../traffic/machine-client-fields.ts";
import { machineClientsOf } from "../traffic/machine-clients.ts";

const cookiePrefix: StringFormat = {
  name: "cookie-prefix",
  example: "service.",
  check: (text) => (/^[A-Za-z0-9.]*$/.test(text) ? undefined : "consist of letters, digits and periods"),
};

/** Fields shared by the three login modules. */
export const loginFields = {
  options_passthrough: f.boolean(
    "Allow HTTP OPTIONS requests without a login; CORS needs this. Such requests reach the upstream without the visitor's identity.",
  ),
  cookie_prefix: f.string("Prefix of the session cookie.", {
    default: "service.",
    format: cookiePrefix,
  }),
  inactivity_timeout: f.uint32("Seconds without requests after which the visitor must log in again; 0: never."),
  maximum_duration: f.uint32("Maximum seconds of a session; 0: unlimited."),
  ...machineClientFields,
} as const;

export const authCheckInterval = f.uint32(
  "Seconds after which the edge refreshes the visitor's data from the identity provider and checks access again; 0: only at login.",
);

/** Converts the shared fields for the engine. @param checkInterval seconds */
export function loginConfig(
  config: {
    readonly options_passthrough: boolean;
    readonly cookie_prefix: string;
    readonly inactivity_timeout: number;
    readonly maximum_duration: number;
    readonly machine_clients: MachineClientBlock | null;
  },
  checkInterval: number,
): LoginRouteConfig {
  return {
    cookiePrefix: config.cookie_prefix,
    optionsPassthrough: config.options_passthrough,
    inactivityTimeout: config.inactivity_timeout,
    maximumDuration: config.maximum_duration,
    checkInterval,
    machines: machineClientsOf(config.machine_clients),
  };
}
