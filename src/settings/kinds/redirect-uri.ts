import { redirectIssue } from "../../lib/redirect-uris.ts";
import type { SettingKind } from "./kind.ts";

/** Address to which an application may send a person's browser. */
export const redirectUri: SettingKind<string> = {
  placeholder: "URI",
  parse(text) {
    const issue = redirectIssue(text);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return text;
  },
};
