import type { CaptureSetting } from "../../capture/rule.ts";
import { captureField } from "../../resources/capture.ts";
import { parseFields } from "../../schema/parse-fields.ts";

/** Returns the `capture` of a place that has no object. Throws an `Error` that names the invalid member. */
export function captureSettingOf(value: unknown): CaptureSetting {
  const { doc, issues } = parseFields({ capture: captureField }, { capture: value }, "create");
  const [issue] = issues;
  if (issue) throw new Error(`${issue.path} ${issue.message}`);
  return Object.freeze(doc["capture"]) as CaptureSetting;
}
