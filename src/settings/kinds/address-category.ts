import { resolve } from "node:path";
import type { SettingKind } from "./kind.ts";

/** A category of addresses, and the place of its list. */
export interface CategoryPlace {
  readonly name: string;
  /** An absolute path, or a URL. */
  readonly place: string;
  readonly isUrl: boolean;
}

export const addressCategory: SettingKind<CategoryPlace> = {
  placeholder: "NAME=FILE|URL",
  parse(text) {
    const equals = text.indexOf("=");
    const name = text.slice(0, Math.max(equals, 0));
    const place = text.slice(equals + 1);
    if (!/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) || name.length > 64) {
      throw new Error(
        'must begin with a name of lower-case letters, digits, "_", "-" and ".", such as "cloud.example="',
      );
    }
    if (place === "") throw new Error('must name a file or a URL after "="');
    if (!/^https?:\/\//i.test(place)) return { name, place: resolve(place), isUrl: false };
    if (!URL.canParse(place)) throw new Error("must have a complete URL");
    return { name, place, isUrl: true };
  },
};
