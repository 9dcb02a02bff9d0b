import type { HeadLimits } from "./read-fields.ts";

/** Says what is wrong with a message whose head is beyond the limits. */
export function headTooLarge({ maxHeadBytes, maxFields }: Pick<HeadLimits, "maxHeadBytes" | "maxFields">): string {
  return `its header is larger than ${maxHeadBytes} bytes or ${maxFields} fields`;
}
