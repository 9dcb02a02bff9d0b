/** Checks addresses of providers that agents or policy rules name, which no API call has validated. */
import { explainInside } from "../../schema/login-schema.ts";
import type { LoginSettings } from "../browser/login-settings.ts";

/**
 * Throws if a request to the URL would be refused. Names that resolve to internal addresses are detected at request
 * time. @param url "" for none
 */
export function checkPlace(
  what: string,
  url: string,
  { allowLocal, issuers }: Pick<LoginSettings, "allowLocal" | "issuers">,
): void {
  const issue = url === "" || allowLocal || issuers.includes(url) ? undefined : explainInside(url);
  if (issue !== undefined) throw new Error(`enforce ${what}: "${url}" ${issue}`);
}
