import { LoginRefusal } from "../calls/identity.ts";

/** Reads a query or a form. Throws `LoginRefusal` if a parameter occurs twice. */
export function readParameters(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (parameters.has(name))
      throw new LoginRefusal("login_state_unreadable", `the parameter "${name.slice(0, 40)}" occurs twice`);
    parameters.set(name, value);
  }
  return parameters;
}
