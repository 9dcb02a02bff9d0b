import type { SettingKind } from "./kind.ts";

/** A whole number from `least` to `most`; `unit` is its unit in the help. */
export function countKind(unit: string, least = 1, most = 999_999_999): SettingKind<number> {
  return {
    placeholder: unit,
    parse(text) {
      const number = Number(text);
      if (/^\d{1,16}$/.test(text) && number >= least && number <= most) return number;
      throw new Error(`must be a whole number from ${least} to ${most}`);
    },
  };
}

/** Version 1 or 2 of the PROXY protocol; 0 for none. */
export const proxyVersion: SettingKind<0 | 1 | 2> = {
  placeholder: "1|2",
  parse(text) {
    if (text === "none") return 0;
    if (text === "1") return 1;
    if (text === "2") return 2;
    throw new Error("must be 1 or 2");
  },
};
