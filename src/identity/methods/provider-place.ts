/** Where a provider may be that an agent or a rule of a policy names, which nobody could refuse when it was written. */
import { insideIssue } from "../../schema/login-fields.ts";
import type { LoginSettings } from "../browser/settings.ts";

/** Throws where a request for it would be refused; a name that leads inside is found out by then. @param url "" for none */
export function checkPlace(
  what: string,
  url: string,
  { allowLocal, issuers }: Pick<LoginSettings, "allowLocal" | "issuers">,
): void {
  const issue = url === "" || allowLocal || issuers.includes(url) ? undefined : insideIssue(url);
  if (issue !== undefined) throw new Error(`enforce ${what}: "${url}" ${issue}`);
}
