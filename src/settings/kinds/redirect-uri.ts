import { redirectIssue } from "../../lib/redirect-uris.ts";
import type { Kind } from "./kind.ts";

/** Address to which an application may send a person's browser. */
export const redirectUri: Kind<string> = {
  placeholder: "URI",
  parse(given) {
    const issue = redirectIssue(given);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return given;
  },
};
