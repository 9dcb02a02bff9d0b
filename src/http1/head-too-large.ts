import type { HeadLimits } from "./read-fields.ts";

/** Describes how a message head exceeds the limits. */
export function headTooLarge({ maxHeadBytes, maxFields }: Pick<HeadLimits, "maxHeadBytes" | "maxFields">): string {
  return `its header is larger than ${maxHeadBytes} bytes or ${maxFields} fields`;
}
