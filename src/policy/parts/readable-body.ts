/** Checks whether find-and-replace can read a body, and handles a body that it cannot read. */
import { f } from "../../schema/fields.ts";
import type { RefusalName } from "../../lib/errors.ts";
import type { HeaderFields } from "../../traffic/header-fields.ts";
import { breakAction, failAction } from "../language/action.ts";
import type { ActionOutcome } from "../language/action.ts";

/** Field of the actions that replace text. */
export const unreadableField = f.oneOf(
  "What happens to text that cannot be searched: `halt` refuses it, `continue` lets it pass unchanged.",
  ["halt", "continue"],
  { default: "halt" },
);

/** Ends the phase, unless the policy allows unsearchable text to pass. */
export function endUnreadable(onError: "halt" | "continue", error: RefusalName, why: string): ActionOutcome {
  return onError === "continue" ? failAction(error, why) : { ...failAction(error, why), ...breakAction(error, why) };
}

/** Returns the reason why the bytes of this body are not plain text for patterns. */
export function explainHidden(headers: HeaderFields): string | undefined {
  const codings = headers.getAll("content-encoding").flatMap((value) => value.split(","));
  if (codings.some((coding) => !/^(?:identity)?$/i.test(coding.trim()))) return "the body is compressed";
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers.get("content-type") ?? "")?.[1] ?? "";
  // These charsets are supersets of ASCII; UTF-16, for example, is not.
  return /^(?:|utf-?8|(?:us-)?ascii|iso-8859-\d+|latin\d|windows-125\d)$/i.test(charset)
    ? undefined
    : `the body's character set is ${charset.slice(0, 40)}`;
}

/** Whether the body is an image, audio, a video or a font, which contain no text. */
export function hasNoText(headers: HeaderFields): boolean {
  const type = (headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
  return /^\s*(?:image|audio|video|font)\/[\w.-]+\s*$/i.test(type);
}
