/**
 * Heads that response hooks do not process: interim responses, and the 101 of an upgrade. If a hook may change or
 * refuse a head, the edge removes every field that the hook might have removed.
 */
import type { FieldTable } from "../../http1/field-table.ts";
import type { CompiledModule } from "../../traffic/module.ts";

export function judgesHeads(hooks: readonly CompiledModule[]): boolean {
  return hooks.some(({ changesBodiesOnly }) => changesBodiesOnly !== true);
}

const upgradeField = /^sec-websocket-/;

/** Keeps only the fields of the upgrade itself. */
export function keepUpgradeFields(fields: FieldTable): void {
  for (const [name] of fields.entries()) if (!upgradeField.test(name.toLowerCase())) fields.delete(name);
}
