import { originIssue } from "../../lib/origin.ts";
import type { SettingKind } from "./kind.ts";

/** A base URL without trailing slashes. */
export const httpUrl: SettingKind<string> = {
  placeholder: "URL",
  parse(text) {
    if (!/^https?:$/.test(URL.parse(text)?.protocol ?? "")) throw new Error("must be an http:// or https:// URL");
    return text.replace(/\/+$/, "");
  },
};

export const httpsUrl: SettingKind<string> = {
  placeholder: "URL",
  parse(text) {
    if (URL.parse(text)?.protocol !== "https:") throw new Error("must be an https:// URL");
    return text;
  },
};

/** An origin as browsers send it. */
export const origin: SettingKind<string> = {
  placeholder: "ORIGIN",
  parse(text) {
    const issue = originIssue(text);
    if (issue !== undefined) throw new Error(`must ${issue}`);
    return text;
  },
};
