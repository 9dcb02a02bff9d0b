import { f } from "../../schema/fields.ts";

export const enforceField = f.boolean("Whether the action refuses, or only says what it would have decided.", {
  default: true,
});
