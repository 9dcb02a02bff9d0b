import { originIssue } from "../../lib/origin.ts";
import type { Kind } from "./kind.ts";

/** A base URL without trailing slashes. */
export const httpUrl: Kind<string> = {
  placeholder: "URL",
  parse(given) {
    if (!/^https?:$/.test(URL.parse(given)?.protocol ?? "")) throw new Error("must be an http:// or https:// URL");
    return given.replace(/\/+$/, "");
  },
};

export const httpsUrl: Kind<string> = {
  placeholder: "URL",
  parse(given) {
    if (URL.parse(given)?.protocol !== "https:") throw new Error("must be an https:// URL");
    return given;
  },
};

/** An origin as browsers send it. */
export const origin: Kind<string> = {
  placeholder: "ORIGIN",
  parse(given) {
    const issue = originIssue(given);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return given;
  },
};
