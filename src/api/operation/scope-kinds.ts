import { resources } from "./resource-declarations.ts";

/** Returns the problem of a scope, as the end of "must …". Undefined if it is valid. */
export function scopeIssue(scope: string): string | undefined {
  const kind = /^type:(.*)$/s.exec(scope)?.[1];
  if (kind === undefined || kind === "*" || resources.some(({ name }) => name === kind)) return undefined;
  return `name a kind of objects, "${kind.slice(0, 64)}" does not exist`;
}
