import { f } from "../../schema/fields.ts";

export const enforceField = f.boolean("Whether the action denies requests, or only reports its decision.", {
  default: true,
});
