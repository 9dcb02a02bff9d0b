import type { SettingKind } from "./kind.ts";

export const text: SettingKind<string> = namedText("TEXT");

/** Text with a different placeholder in the help. */
export function namedText(placeholder: string): SettingKind<string> {
  return {
    placeholder,
    parse(given) {
      if (given === "") throw new Error("must not be empty");
      return given;
    },
  };
}

/** Text that a header field can contain unchanged. */
export function visibleKind(placeholder: string): SettingKind<string> {
  return {
    placeholder,
    parse(given) {
      if (/^[\x21-\x7e][\x20-\x7e]*$/.test(given)) return given;
      throw new Error("must be visible ASCII characters");
    },
  };
}

export function oneOf<const T extends string>(values: readonly T[]): SettingKind<T> {
  return {
    placeholder: values.join("|"),
    parse(given) {
      if (!values.includes(given as T)) throw new Error(`must be one of ${values.join(", ")}`);
      return given as T;
    },
  };
}

export const emailAddress: SettingKind<string> = {
  placeholder: "ADDRESS",
  parse(given) {
    if (!/^[^\s@,;?<>]+@[^\s@,;?<>]+$/.test(given)) throw new Error("must be one e-mail address");
    return given;
  },
};

/** A secret of at least 16 bytes in base 64, with the characters of URLs. */
export const base64url: SettingKind<string> = {
  placeholder: "SECRET",
  parse(given) {
    if (/^[A-Za-z0-9_-]{22,}={0,2}$/.test(given)) return given;
    throw new Error("must be in base64url, at least 16 bytes");
  },
};

/** Lengths of a key or token that an operator chooses: at least 160 bits in base 64 (K5). */
export function chosenSecret(
  placeholder: string,
  { least, most }: { least: number; most: number },
): SettingKind<string> {
  return {
    placeholder,
    parse(given) {
      if (/^[\x21-\x7e]+$/.test(given) && given.length >= least && given.length <= most) return given;
      throw new Error(`must be ${least} to ${most} visible ASCII characters, chosen at random`);
    },
  };
}
