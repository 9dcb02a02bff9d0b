import type { Kind } from "./kind.ts";

/** A whole number from `least` to `most`; `unit` is its unit in the help. */
export function count(unit: string, least = 1, most = 999_999_999): Kind<number> {
  return {
    placeholder: unit,
    parse(given) {
      const number = Number(given);
      if (/^\d{1,16}$/.test(given) && number >= least && number <= most) return number;
      throw new Error(`must be a whole number from ${least} to ${most}`);
    },
  };
}

/** Version 1 or 2 of the PROXY protocol; 0 for none. */
export const proxyVersion: Kind<0 | 1 | 2> = {
  placeholder: "1|2",
  parse(given) {
    if (given === "none") return 0;
    if (given === "1") return 1;
    if (given === "2") return 2;
    throw new Error("must be 1 or 2");
  },
};
