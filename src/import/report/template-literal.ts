/** Escapes text in a template of a traffic policy: a `${` of the source must not become an expression. */
export function escapeTemplate(text: string): string {
  return text.replaceAll("${", () => "$${");
}

/** Whether a header module would read the value as a template. Such templates cannot escape `${`. */
export function hasTemplate(text: string): boolean {
  return text.includes("${");
}
