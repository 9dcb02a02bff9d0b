/** How the server captures requests of a tunnel, as the agent asks for it (agent-protocol, "Options of a tunnel"). */
import type { CaptureSetting } from "../../../capture/rule.ts";
import { Refusal } from "../../../lib/errors.ts";
import { captureSettingOf } from "../../../routing/compile/capture-setting.ts";

/** Name of the option in lower case. It is read here and not compiled to a module. */
export const captureOption = "capture";

/** Returns undefined without the option. Throws `agent_request_invalid`. */
export function readCapture(options: Readonly<Record<string, unknown>>): CaptureSetting | undefined {
  const key = Object.keys(options).find((name) => name.toLowerCase() === captureOption);
  const option = key === undefined ? undefined : options[key];
  if (option === undefined || option === null) return undefined;
  try {
    return captureSettingOf(option);
  } catch (error) {
    throw new Refusal("agent_request_invalid", `compile the option "${key}": ${(error as Error).message}`);
  }
}
