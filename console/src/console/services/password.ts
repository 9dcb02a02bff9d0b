/** A password in front of a service, as an action of a traffic policy. */
import type { JsonObject } from "../api.ts";

/** Realm of passwords that the console sets. */
export const passwordRealm = "Postern";

/** Policies evaluate `${`. A password is a plain text. */
export function passwordAction(user: string, password: string): JsonObject {
  const credentials = [`${user}:${password}`.replaceAll("${", () => "$${")];
  return { type: "basic-auth", config: { credentials, realm: passwordRealm } };
}
