/** Describes why an object could not be applied, without the values that compilers quote (control K4). */
import { hasSealed } from "../../schema/concealment.ts";
import { resources } from "../operation/resource-declarations.ts";

/** For the log, and for API keys that may not read secrets. */
export function problemWithoutSecrets(kind: string, module: string | undefined, message: string): string {
  const fields = resources.find(({ name }) => name === kind)?.fields;
  const field = module === undefined ? undefined : fields?.[module];
  const quotes = field ? hasSealed(field) : !fields || Object.values(fields).some(hasSealed);
  return quotes ? `it cannot be put into effect: a key with the scope "secrets" is told why` : message;
}
